package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// readJSON reads a JSON text.
func (f *file) readJSON() (*node, error) {
	var whole json.RawMessage
	if err := json.Unmarshal([]byte(f.data), &whole); err != nil {
		return nil, f.jsonFault(err)
	}
	d := json.NewDecoder(strings.NewReader(f.data))
	d.UseNumber()
	r := &jsonReader{file: f, dec: d, place: place{1, 1}}
	return r.value(0)
}

// jsonFault says where the text stops being JSON. Offsets of the decoder are behind the byte that it did not expect.
func (f *file) jsonFault(err error) error {
	var se *json.SyntaxError
	if !errors.As(err, &se) {
		return f.fault(place{1, 1}, err.Error(), "")
	}
	offset := min(max(int(se.Offset)-1, 0), len(f.data)-1)
	message := "it is not JSON: " + se.Error()
	if strings.Contains(message, "unexpected end") {
		return f.fault(f.at(len(strings.TrimRight(f.data, " \t\r\n"))), message,
			"a bracket, brace or quote is not closed")
	}
	hint := ""
	switch before := strings.TrimRight(f.data[:offset], " \t\r\n"); {
	case f.data[offset] == '#' || f.data[offset] == '/':
		hint = "JSON has no comments; YAML has"
	case f.data[offset] == '\'':
		hint = `texts stand in double quotes "`
	case strings.HasSuffix(before, ",") && strings.IndexByte("]}", f.data[offset]) >= 0:
		hint = "drop the comma before it"
	case strings.Contains(message, "after top-level value"):
		hint = "one file defines one task"
	}
	return f.fault(f.at(offset), message, hint)
}

// jsonReader walks over a text that is known to be JSON.
type jsonReader struct {
	*file
	dec    *json.Decoder
	offset int // of the token read last
	place  place
}

// next is the next token and where it begins.
func (r *jsonReader) next() (json.Token, place, error) {
	start := int(r.dec.InputOffset())
	for start < len(r.data) && strings.IndexByte(" \t\r\n,:", r.data[start]) >= 0 {
		start++
	}
	at := r.place.behind(r.data[r.offset:start]) // counted on from the last token: counting from the top takes quadratic time
	r.offset, r.place = start, at
	t, err := r.dec.Token()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, at, r.fault(at, "it is not JSON: "+err.Error(), "")
	}
	return t, at, nil
}

func (r *jsonReader) value(depth int) (*node, error) {
	t, at, err := r.next()
	if err != nil {
		return nil, err
	}
	if depth > maxDepth {
		return nil, r.fault(at, "it is nested too deep", fmt.Sprintf("at most %d levels", maxDepth))
	}
	out := &node{place: at, raw: fmt.Sprint(t)}
	switch t := t.(type) {
	case bool:
		out.kind, out.json = boolean, strconv.FormatBool(t)
	case json.Number:
		return r.decimal(out, t.String())
	case string:
		out.kind = text
	case json.Delim:
		out.raw = ""
		if t == '[' {
			return r.list(out, depth)
		}
		return r.object(out, depth)
	}
	return out, nil
}

func (r *jsonReader) list(out *node, depth int) (*node, error) {
	out.kind = list
	for r.dec.More() {
		item, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		out.items = append(out.items, item)
	}
	_, _, err := r.next()
	return out, err
}

func (r *jsonReader) object(out *node, depth int) (*node, error) {
	out.kind = mapping
	seen := make(map[string]place)
	for r.dec.More() {
		t, at, err := r.next()
		if err != nil {
			return nil, err
		}
		key := fmt.Sprint(t)
		if first, ok := seen[key]; ok {
			return nil, r.twice(key, first, at)
		}
		seen[key] = at
		value, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		out.pairs = append(out.pairs, pair{key: key, place: at, value: value})
	}
	_, _, err := r.next()
	return out, err
}

// maxNumber bounds the text of a number: reading a whole one takes a time that grows with the square of its digits.
const maxNumber = 400

// decimal makes a number of decimal text. Equal numbers get equal text: whole ones their digits, others the shortest
// that reads back the same.
func (f *file) decimal(out *node, s string) (*node, error) {
	out.kind = number
	if len(s) > maxNumber {
		return nil, f.fault(out.place, fmt.Sprintf("a number of %d characters, at most %d are allowed", len(s),
			maxNumber), "put it into quotes if it is a text")
	}
	if i, ok := new(big.Int).SetString(s, 10); ok {
		out.json = i.String()
		return out, nil
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
		return nil, f.fault(out.place, fmt.Sprintf("the number %.40s is out of range", s), "")
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, f.fault(out.place, err.Error(), "")
	}
	out.json = string(b)
	return out, nil
}
