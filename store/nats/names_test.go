package nats

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rota-run/rota/store/driver"
)

// kvKey is what the server and its tools take for a key of a bucket.
var kvKey = regexp.MustCompile(`^[-/_=.a-zA-Z0-9]+$`)

func anyKey() *rapid.Generator[string] {
	return rapid.StringMatching(`[A-Za-z0-9._#@=:-]{1,12}(/[A-Za-z0-9._#@=:-]{1,12}){0,4}`)
}

func TestKeysAreEncodedInjectively(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		key, prefix := anyKey().Draw(t, "key"), anyKey().Draw(t, "prefix")+"/"
		text := encodeKey(key)
		if got, ok := decodeKey(text); !ok || got != key {
			t.Fatalf("%q became %q and came back as %q, %v", key, text, got, ok)
		}
		if !kvKey.MatchString(text) || strings.Contains(text, "..") || strings.HasPrefix(text, ".") ||
			strings.HasSuffix(text, ".") {
			t.Fatalf("%q became %q, which is no key of a bucket", key, text)
		}
		if strings.HasPrefix(text, encodeKey(prefix)) != strings.HasPrefix(key, prefix) {
			t.Fatalf("whether %q is below %q is not what %q and %q say", key, prefix, text, encodeKey(prefix))
		}
		if below := prefix + key; !strings.HasPrefix(encodeKey(below), encodeKey(prefix)) {
			t.Fatalf("%q became %q, which is not below %q", below, encodeKey(below), encodeKey(prefix))
		}
	})
}

func TestKeysByExample(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"a":               "a",
		"a/b-c_D9":        "a.b-c_D9",
		"a.b/c":           "a=2Eb.c",
		"#@=:.":           "=23=40=3D=3A=2E",
		"pulse/m#1/x@y:z": "pulse.m=231.x=40y=3Az",
	} {
		if got := encodeKey(key); got != want {
			t.Errorf("%q became %q, want %q", key, got, want)
		}
	}
	for _, text := range []string{"=", "=2", "=2e", "=41", "a=zz", "a#b", "a/b", "=3D=2"} {
		if key, ok := decodeKey(text); ok {
			t.Errorf("%q was read as %q, though no key becomes that", text, key)
		}
	}
}

// TestWhatARangeHasInCommon: no key of the range is left out.
func TestWhatARangeHasInCommon(t *testing.T) {
	t.Parallel()
	for in, want := range map[[2]string]string{
		{"d/a/", "d/a0"}:         "d/a/",
		{"d/", "d0"}:             "d/",
		{"d/a/b", "d/a/c"}:       "d/a/",
		{"d/a/b", "d/b/c"}:       "d/",
		{"l/x/s/", "l/x/s/007."}: "l/x/s/",
		{"d/a", "l/x"}:           "",
		{"a", "b"}:               "",
	} {
		if got := common(in[0], in[1]); got != want {
			t.Errorf("keys from %q to %q have %q in common, want %q", in[0], in[1], got, want)
		}
	}
}

func TestVersions(t *testing.T) {
	t.Parallel()
	for _, v := range []driver.Version{"0", "01", "+1", "-1", " 1", "1 ", "x", "18446744073709551616"} {
		if seq, ok := sequence(v); ok {
			t.Errorf("%q was taken for the version %d", v, seq)
		}
	}
	if seq, ok := sequence("42"); !ok || seq != 42 {
		t.Errorf("42 was read as %d, %v", seq, ok)
	}
	if seq, ok := sequence(""); !ok || seq != 0 {
		t.Errorf("no version was read as %d, %v", seq, ok)
	}
}

// FuzzDecodeKey reads what others may have written into the bucket.
func FuzzDecodeKey(f *testing.F) {
	for _, s := range []string{"", "a.b", "=2E", "=", "a=", "..", "=4", "ä"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if key, ok := decodeKey(text); ok && encodeKey(key) != text {
			t.Fatalf("%q was read as %q, which is written as %q", text, key, encodeKey(key))
		}
	})
}
