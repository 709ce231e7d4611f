package tasks

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// decodeAny decodes one JSON value and keeps numbers as they are written.
func decodeAny(b []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return v, nil
}

const (
	jsonValue  = 10 // bytes of the limit that each JSON value takes: small values take much more memory than text
	jsonNumber = 64 // bytes; a longer number is compared as it is written
)

// moreValues reports whether a JSON text may have more than n values. Commas and braces in strings count too.
func moreValues(b []byte, n int) bool {
	for _, c := range b {
		if c == ',' || c == '[' || c == '{' {
			n--
		}
	}
	return n < 0
}

// lookUp follows a path of names and indexes: "a.0.b", or "/a/0/b" with the escapes of JSON pointers (RFC 6901) for
// names with dots.
func lookUp(v any, path string) (any, bool) {
	for _, step := range steps(path) {
		switch at := v.(type) {
		case map[string]any:
			next, ok := at[step]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(at) {
				return nil, false
			}
			v = at[i]
		default:
			return nil, false
		}
	}
	return v, true
}

func steps(path string) []string {
	if !strings.HasPrefix(path, "/") {
		return strings.Split(path, ".")
	}
	out := strings.Split(path[1:], "/")
	for i, s := range out {
		out[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(s)
	}
	return out
}

// sameJSON compares values of decodeAny; 1, 1.0 and 1e0 are the same number.
func sameJSON(a, b any) bool {
	switch x := a.(type) {
	case json.Number:
		y, ok := b.(json.Number)
		return ok && sameNumber(x, y)
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && maps.EqualFunc(x, y, sameJSON)
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, sameJSON)
	}
	return a == b
}

// sameNumber compares whole numbers exactly, very long ones as text and others as floats.
func sameNumber(a, b json.Number) bool {
	if len(a) > jsonNumber || len(b) > jsonNumber {
		return a == b
	}
	i, err1 := a.Int64()
	j, err2 := b.Int64()
	if err1 == nil && err2 == nil {
		return i == j
	}
	x, err1 := a.Float64()
	y, err2 := b.Float64()
	return a == b || err1 == nil && err2 == nil && x == y
}
