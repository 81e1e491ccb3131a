package certificates

import (
	"bytes"
	"crypto/x509"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

const name = "tephra-admission.tephra-system.svc"

var begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func next(t *testing.T, before State, now time.Time) State {
	t.Helper()
	after, err := Next(before, name, now)
	if err != nil {
		t.Fatal(err)
	}
	return stored(t, after)
}

// stored is the state as it is read again.
func stored(t *testing.T, state State) State {
	t.Helper()
	keys, err := state.AuthorityKeys()
	if err != nil {
		t.Fatal(err)
	}
	leaf, key, err := state.Leaf()
	if err != nil {
		t.Fatal(err)
	}
	read, err := Read(state.Bundle(), keys, leaf, key)
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// Over 17 years, a webhook that has the certificate of any of the last days is accepted by an API server that has the bundle
// of any of these days: pods and the API server get what is new at different times.
func TestEachCertificateIsAcceptedWithTheBundlesAroundIt(t *testing.T) {
	const lag = 14 // days on which every run fails
	var recent []State
	state := State{}
	leaves, authorities := map[string]bool{}, map[string]bool{}
	for day := range 17 * 365 {
		now := begin.AddDate(0, 0, day)
		before := state
		if state = next(t, state, now); day > 0 && state.leaf.Equal(before.leaf) && bytes.Equal(state.Bundle(), before.Bundle()) {
			state = before
		}
		recent = append(recent, state)
		recent = recent[max(0, len(recent)-lag):]
		checked := map[[2]*x509.Certificate]bool{}
		for _, webhook := range recent {
			for _, server := range recent {
				pair := [2]*x509.Certificate{webhook.leaf, server.authorities[0].certificate}
				if checked[pair] {
					continue
				}
				checked[pair] = true
				if err := server.Verify(webhook.leaf, name, now); err != nil {
					t.Fatalf("day %d: %v", day, err)
				}
			}
		}
		leaves[state.leaf.SerialNumber.String()] = true
		authorities[state.authorities[0].certificate.SerialNumber.String()] = true
		if len(state.authorities) > mostAuthorities {
			t.Fatalf("day %d: %d authorities", day, len(state.authorities))
		}
	}
	// A certificate every 30 days, an authority every 8 years.
	if len(authorities) != 3 || len(leaves) < 190 || len(leaves) > 210 {
		t.Errorf("%d authorities, %d certificates", len(authorities), len(leaves))
	}
}

func TestNothingChangesWhileNothingIsDue(t *testing.T) {
	state := next(t, State{}, begin)
	again := next(t, state, begin.Add(29*24*time.Hour))
	if !bytes.Equal(state.Bundle(), again.Bundle()) || !state.leaf.Equal(again.leaf) {
		t.Error("it changed within 29 days")
	}
	if again = next(t, state, begin.Add(31*24*time.Hour)); !bytes.Equal(state.Bundle(), again.Bundle()) || state.leaf.Equal(again.leaf) {
		t.Error("after 31 days, expected another certificate of the same authority")
	}
}

// Whatever the clock does, the certificate is good at the time that the clock shows.
func TestAClockThatJumpsLeavesAGoodCertificate(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	state, now := State{}, begin
	for range 500 {
		now = now.Add(time.Duration(random.Int64N(int64(20*365*24*time.Hour))) - 10*365*24*time.Hour)
		state = next(t, state, now)
		if err := state.Verify(state.leaf, name, now); err != nil {
			t.Fatalf("seed %d, at %v: %v", seed, now, err)
		}
	}
}

func TestWhatIsDamagedIsMadeAgain(t *testing.T) {
	good := next(t, State{}, begin)
	keys, _ := good.AuthorityKeys()
	leaf, key, _ := good.Leaf()
	other := next(t, State{}, begin)
	otherKeys, _ := other.AuthorityKeys()
	_, otherKey, _ := other.Leaf()
	for what, damaged := range map[string]struct {
		bundle, keys, leaf, key []byte
		wrong                   string
	}{
		"no bundle":      {nil, keys, leaf, key, "ca.key: 1 keys, expected 0"},
		"no key":         {good.Bundle(), nil, leaf, key, "ca.key: 0 keys, expected 1"},
		"another key":    {good.Bundle(), otherKeys, leaf, key, "its key is of another certificate"},
		"not PEM":        {[]byte("x"), keys, leaf, key, "not PEM"},
		"a cut bundle":   {good.Bundle()[:100], keys, leaf, key, "not PEM"},
		"a key for it":   {keys, keys, leaf, key, `a block "PRIVATE KEY"`},
		"another leaf's": {good.Bundle(), keys, leaf, otherKey, "tls.crt: its key is of another certificate"},
		"no leaf":        {good.Bundle(), keys, nil, nil, ""},
		"a huge bundle":  {bytes.Repeat(good.Bundle(), 100), keys, leaf, key, "expected at most 16"},
	} {
		state, err := Read(damaged.bundle, damaged.keys, damaged.leaf, damaged.key)
		if (err == nil) != (damaged.wrong == "") || err != nil && !strings.Contains(err.Error(), damaged.wrong) {
			t.Errorf("%s: %v, expected %q", what, err, damaged.wrong)
		}
		state = next(t, state, begin)
		if err := state.Verify(state.leaf, name, begin); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	renamed, err := Next(good, "another.svc", begin)
	if err != nil || renamed.Verify(renamed.leaf, "another.svc", begin) != nil || !bytes.Equal(renamed.Bundle(), good.Bundle()) {
		t.Error("another name needs another certificate of the same authority")
	}
}
