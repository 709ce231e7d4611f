package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// MaxKey is the length, in bytes, that every store allows for a key.
const MaxKey = 512

// CheckKey reports what is wrong with a key, or nil. Drivers call it before they send anything, so that a key that one
// store accepts is accepted by all.
func CheckKey(key string) error {
	if key == "" {
		return fmt.Errorf("key is empty: give a path like %q", "a/b")
	}
	if len(key) > MaxKey {
		return fmt.Errorf("key %.40q… has %d bytes: at most %d are allowed", key, len(key), MaxKey)
	}
	return checkSegments("key", key)
}

// maxName is how long the name of what programs share may be, in bytes.
const maxName = 200

// CheckName reports what is wrong with the name of a lock, a semaphore or a status, or nil. A name is a path like
// "reports/daily", of letters, digits and . _ # @ = - : with at most 200 bytes.
func CheckName(name string) error {
	if len(name) > maxName {
		return fmt.Errorf("name %.40q… has %d bytes: at most %d are allowed", name, len(name), maxName)
	}
	if err := CheckKey(name); err != nil {
		return fmt.Errorf("name: %w", err)
	}
	return nil
}

// CheckPrefix reports what is wrong with a prefix for List and Watch, or nil: it must be empty (everything) or end with
// "/". "a" is refused because stores with directories and stores with strings would interpret it differently.
func CheckPrefix(prefix string) error {
	if prefix == "" {
		return nil
	}
	if !strings.HasSuffix(prefix, "/") {
		return fmt.Errorf("prefix %q does not end with %q: try %q", prefix, "/", prefix+"/")
	}
	return checkSegments("prefix", strings.TrimSuffix(prefix, "/"))
}

func checkSegments(what, path string) error {
	for i := 0; i < len(path); i++ {
		if !keyByte(path[i]) {
			return fmt.Errorf("%s %q: byte %q at %d is not allowed: use A-Z a-z 0-9 . _ / # @ = - :", what, path,
				path[i], i)
		}
	}
	for _, segment := range strings.Split(path, "/") {
		if segment == "" {
			return fmt.Errorf("%s %q has an empty segment: remove the extra %q", what, path, "/")
		}
	}
	return nil
}

func keyByte(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return strings.IndexByte("._/#@=-:", c) >= 0
}

// GetAll is [GetMany] on any documents: with Gets if they implement it, else with one Get after the other.
func GetAll(ctx context.Context, docs Docs, keys []string) ([]Doc, error) {
	if many, ok := docs.(GetMany); ok {
		return many.Gets(ctx, keys)
	}
	out := make([]Doc, len(keys))
	for i, key := range keys {
		d, err := docs.Get(ctx, key)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return nil, err
		}
		d.Key = key
		out[i] = d
	}
	return out, nil
}
