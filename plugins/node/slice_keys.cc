#include "plugins/node/slice_keys.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <vector>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "base/bad_input.h"

namespace tephra::node {
namespace {

constexpr std::size_t kMostKeys = 8, kMostKeyBytes = 4096;
constexpr std::size_t kKeyBytes = 32, kSignatureBytes = 64, kNameBytes = 4;
constexpr const char* kSignedText = "tephra.sh/slices-signature v1\n";

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using Bio = std::unique_ptr<BIO, Free>;
using Key = std::unique_ptr<EVP_PKEY, Free>;
using Context = std::unique_ptr<EVP_MD_CTX, Free>;

absl::StatusOr<std::string> ReadSmall(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kMostKeyBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (file.bad() || (text.empty() && !file.eof())) {
    return absl::FailedPreconditionError(path + ": cannot be read");
  }
  if (text.size() > kMostKeyBytes) {
    return absl::FailedPreconditionError(path + ": expected at most " +
                                         std::to_string(kMostKeyBytes) + " bytes");
  }
  return text;
}

const unsigned char* Bytes(const std::string& text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// The raw key of a text in PEM; empty: it is no public key of Ed25519.
std::string RawKey(const std::string& pem) {
  const Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  const Key key(bio ? PEM_read_bio_PUBKEY(bio.get(), nullptr, nullptr, nullptr) : nullptr);
  std::string raw(kKeyBytes, '\0');
  std::size_t size = raw.size();
  const bool good = key && EVP_PKEY_id(key.get()) == EVP_PKEY_ED25519 &&
                    EVP_PKEY_get_raw_public_key(
                        key.get(), reinterpret_cast<unsigned char*>(raw.data()), &size) == 1 &&
                    size == kKeyBytes;
  ERR_clear_error();
  return good ? raw : "";
}

bool Verify(const std::string& raw, const std::string& signature, const std::string& text) {
  const Key key(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, Bytes(raw), raw.size()));
  const Context context(EVP_MD_CTX_new());
  const bool good =
      key && context &&
      EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
      EVP_DigestVerify(context.get(), Bytes(signature), signature.size(), Bytes(text),
                       text.size()) == 1;
  ERR_clear_error();
  return good;
}

std::string Hex(const unsigned char* bytes, std::size_t size) {
  std::string text;
  for (std::size_t i = 0; i < size; ++i) {
    for (const int digit : {bytes[i] >> 4, bytes[i] & 15}) text += "0123456789abcdef"[digit];
  }
  return text;
}

// Nothing: it is not this many bytes in hexadecimal digits.
std::optional<std::string> Unhex(const std::string& text, std::size_t size) {
  if (text.size() != 2 * size) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    int value = 0;
    for (const char c : {text[i], text[i + 1]}) {
      const bool digit = c >= '0' && c <= '9', letter = c >= 'a' && c <= 'f';
      if (!digit && !letter) return std::nullopt;
      value = value * 16 + (digit ? c - '0' : c - 'a' + 10);
    }
    bytes += static_cast<char>(value);
  }
  return bytes;
}

std::string NameOf(const std::string& raw) {
  unsigned char sum[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_Digest(raw.data(), raw.size(), sum, &size, EVP_sha256(), nullptr);
  return Hex(sum, kNameBytes);
}

absl::Status Wrong(const char* field, const std::string& value, const std::string& expected) {
  return absl::PermissionDeniedError(
      std::string(BadInput(kSignatureKey, 0, field, value, expected).message()));
}

}  // namespace

std::optional<std::int64_t> ParseApiTime(const std::string& text) {
  std::tm time{};
  const char* const end = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &time);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return timegm(&time);
}

absl::StatusOr<SliceKeys> SliceKeys::Read(const std::string& folder) {
  SliceKeys keys;
  std::vector<std::string> paths;
  std::error_code failed;
  for (std::filesystem::directory_iterator file(folder, failed), end; !failed && file != end;
       file.increment(failed)) {
    if (file->path().extension() == ".pub") paths.push_back(file->path());
  }
  if (failed) return absl::FailedPreconditionError(folder + ": " + failed.message());
  if (paths.empty() || paths.size() > kMostKeys) {
    return absl::FailedPreconditionError(folder + ": " + std::to_string(paths.size()) +
                                         " files *.pub, expected 1 to " +
                                         std::to_string(kMostKeys));
  }
  for (const std::string& path : paths) {
    TEPHRA_ASSIGN_OR_RETURN(const std::string pem, ReadSmall(path));
    const std::string raw = RawKey(pem);
    if (raw.empty()) {
      return absl::FailedPreconditionError(path + ": expected a public key of Ed25519 in PEM");
    }
    keys.keys_[NameOf(raw)] = raw;
  }
  const std::string path = folder + "/since";
  if (!std::filesystem::exists(path, failed)) return keys;
  TEPHRA_ASSIGN_OR_RETURN(keys.since_, ReadSmall(path));
  while (!keys.since_.empty() && std::isspace(static_cast<unsigned char>(keys.since_.back()))) {
    keys.since_.pop_back();
  }
  const auto since = ParseApiTime(keys.since_);
  if (!since) {
    return absl::FailedPreconditionError(path + ": " + Quoted(keys.since_) +
                                         ", expected a time such as 2026-01-31T08:00:00Z");
  }
  keys.since_s_ = *since;
  return keys;
}

absl::Status SliceKeys::Check(const SignedSlices& given, const std::string& signature,
                              std::int64_t created_s) const {
  if (signature.empty()) {
    if (created_s < since_s_) return absl::OkStatus();
    return Wrong("", "absent",
                 "the scheduler's signature, because the pod was created after " +
                     (since_.empty() ? "1970-01-01T00:00:00Z" : since_));
  }
  const std::size_t first = signature.find('.'), second = signature.find('.', first + 1);
  if (signature.substr(0, first) != "v1" || second == std::string::npos ||
      signature.find('.', second + 1) != std::string::npos) {
    return Wrong("", signature, "\"v1.KEY.SIGNATURE\"");
  }
  const std::string name = signature.substr(first + 1, second - first - 1);
  const auto key = keys_.find(name);
  if (key == keys_.end()) {
    std::string names;
    for (const auto& [each, raw] : keys_) names += (names.empty() ? "" : ", ") + Quoted(each);
    return Wrong("key", name, "one of " + names);
  }
  const auto bytes = Unhex(signature.substr(second + 1), kSignatureBytes);
  if (!bytes) {
    return Wrong("signature", signature.substr(second + 1),
                 std::to_string(2 * kSignatureBytes) + " hexadecimal digits");
  }
  // No two givens have one text, because only the last field may have a line break.
  for (const auto& [field, value] : {std::pair("metadata.uid", given.pod_uid),
                                     std::pair("spec.nodeName", given.node),
                                     std::pair(kQueueKey, given.queue)}) {
    if (value.find('\n') != std::string::npos) return Wrong(field, value, "no line break");
  }
  const std::string text = kSignedText + given.pod_uid + "\n" + given.node + "\n" + given.queue +
                           "\n" + given.slices;
  if (!Verify(key->second, *bytes, text)) {
    return Wrong("signature", signature.substr(second + 1),
                 "the signature of tephra.sh/slices, tephra.sh/queue, the pod's UID and its node " +
                     Quoted(given.node) + " by key " + name);
  }
  return absl::OkStatus();
}

}  // namespace tephra::node
