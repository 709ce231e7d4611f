package store

import (
	"strings"
	"testing"
)

func TestCheckKey(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"a", "a/b/c", "A9._#@=-:", ".", strings.Repeat("x", MaxKey)} {
		if err := CheckKey(good); err != nil {
			t.Errorf("CheckKey(%q) = %v, want nil", good, err)
		}
	}
	for _, bad := range []string{"", "/", "a/", "/a", "a//b", "a b", "ä", "a\x00", strings.Repeat("x", MaxKey+1)} {
		if err := CheckKey(bad); err == nil {
			t.Errorf("CheckKey(%q) = nil, want an error", bad)
		}
	}
}

func TestCheckPrefix(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"", "a/", "a/b/"} {
		if err := CheckPrefix(good); err != nil {
			t.Errorf("CheckPrefix(%q) = %v, want nil", good, err)
		}
	}
	for _, bad := range []string{"/", "a", "a//", "//", " /", "a/b"} {
		if err := CheckPrefix(bad); err == nil {
			t.Errorf("CheckPrefix(%q) = nil, want an error", bad)
		}
	}
}

func FuzzCheckKey(f *testing.F) {
	f.Add("a/b")
	f.Add("a//b")
	f.Fuzz(func(t *testing.T, key string) {
		if CheckKey(key) == nil && CheckPrefix(key+"/") != nil {
			t.Errorf("key %q is good, but not as a prefix", key)
		}
	})
}
