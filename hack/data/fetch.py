"""Downloads one file over HTTP into a partial file, and goes on where an earlier download was interrupted."""

import http.client
import re
import sys
import time
import urllib.error
import urllib.request

from convert import DataError

TIMEOUT_S = 60
ATTEMPTS = 4
PAUSE_S = 1.0  # before the second attempt; it doubles
BLOCK = 1 << 16


def download(url, part, most):
    """Completes `part` with the content of the URL, at most `most` bytes. What it has stays when this fails."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return _attempt(url, part, most)
        except urllib.error.HTTPError as problem:
            if problem.code < 500 or attempt == ATTEMPTS:
                raise DataError(f"{url}: HTTP status {problem.code} {problem.reason}, expected 200 or 206") from None
            reason = f"HTTP status {problem.code}"
        except (urllib.error.URLError, http.client.HTTPException, ConnectionError, TimeoutError) as problem:
            reason = str(getattr(problem, "reason", None) or problem or type(problem).__name__)
            if attempt == ATTEMPTS:
                raise DataError(f"{url}: {reason}; the next run goes on at byte {_size(part):,}") from None
        print(f"data: {url}: {reason}; attempt {attempt + 1} of {ATTEMPTS}", file=sys.stderr)
        time.sleep(PAUSE_S * 2 ** (attempt - 1))


def _size(part):
    return part.stat().st_size if part.exists() else 0


def _attempt(url, part, most):
    tag_file = part.with_name(part.name + ".etag")
    have = _size(part)
    request = urllib.request.Request(url, headers={"User-Agent": "tephra-data", "Accept-Encoding": "identity"})
    if have:
        request.add_header("Range", f"bytes={have}-")
        if tag_file.exists():
            request.add_header("If-Range", tag_file.read_text())  # the rest of another version is of no use
    try:
        response = urllib.request.urlopen(request, timeout=TIMEOUT_S)
    except urllib.error.HTTPError as problem:
        if problem.code != 416 or not have:
            raise
        # Nothing is after the bytes that are here: they are all of it, or of another version, as the hash will tell.
        problem.close()
        return
    with response:
        total = response.headers.get("Content-Length")
        expected = int(total) if total and total.isdigit() else None
        if response.status == 206:
            begins = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
            if not begins or int(begins[1]) != have:
                part.unlink()
                raise ConnectionError(f"the server sent range {response.headers.get('Content-Range')!r}, expected bytes {have}-")
        else:
            have = 0  # the server sends all of it
        tag = response.headers.get("ETag", "")
        if tag and not tag.startswith("W/"):
            tag_file.write_text(tag)
        else:
            tag_file.unlink(missing_ok=True)
        if expected is not None and have + expected > most:
            raise DataError(f"{url}: has {have + expected:,} bytes, expected at most {most:,}")
        _copy(response, part, have, expected, most, url)


def _copy(response, part, have, expected, most, url):
    got, terminal = 0, sys.stderr.isatty()
    with part.open("ab" if have else "wb") as out:
        while block := response.read(BLOCK):
            got += len(block)
            if have + got > most:
                raise DataError(f"{url}: has more than {most:,} bytes, expected at most as many")
            out.write(block)
            if terminal:
                print(f"\rdata: {have + got:,} bytes", end="", file=sys.stderr, flush=True)
    if terminal:
        print(file=sys.stderr)
    if expected is not None and got < expected:
        raise ConnectionError(f"the connection ended {expected - got:,} bytes early")
