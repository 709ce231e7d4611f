package journal

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// quick reads records in the form in which Append writes them, many times faster than package json does. It is not ok
// for all that needs more than comparing bytes, such as escapes and places of definitions: then package json decides.
func quick(data []byte) (out []Record, ok bool) {
	if !utf8.Valid(data) || bytes.IndexByte(data, '\\') >= 0 {
		return nil, false
	}
	r := &reader{text: string(data)}
	if !r.skip("[") {
		return nil, false
	}
	for {
		var rec Record
		if !r.record(&rec) {
			return nil, false
		}
		out = append(out, rec)
		if !r.skip(",") {
			return out, r.skip("]") && r.at == len(r.text)
		}
	}
}

type reader struct {
	text string
	at   int
}

func (r *reader) skip(s string) bool {
	if len(r.text)-r.at < len(s) || r.text[r.at:r.at+len(s)] != s {
		return false
	}
	r.at += len(s)
	return true
}

func (r *reader) record(rec *Record) bool {
	if !r.skip(`{`) {
		return false
	}
	for {
		name, ok := r.string()
		if !ok || !r.skip(":") || !r.field(rec, name) {
			return false
		}
		if !r.skip(",") {
			return r.skip("}")
		}
	}
}

// field reads the value of a field.
func (r *reader) field(rec *Record, name string) bool {
	if at := rec.text(name); at != nil {
		s, ok := r.string()
		*at = s
		return ok
	}
	digits := r.number()
	var err error
	switch name {
	case "at_ms":
		rec.AtMS, err = strconv.ParseInt(digits, 10, 64)
	case "token":
		rec.Token, err = strconv.ParseUint(digits, 10, 64)
	case "gap_ms":
		rec.GapMS = new(int64)
		*rec.GapMS, err = strconv.ParseInt(digits, 10, 64)
	default:
		return false
	}
	return err == nil
}

// text is the field of that name that is a string.
func (r *Record) text(name string) *string {
	switch name {
	case "kind":
		return (*string)(&r.Kind)
	case "member":
		return &r.Member
	case "partition":
		return &r.Partition
	case "message":
		return &r.Message
	case "from":
		return &r.From
	case "to":
		return &r.To
	case "cause":
		return &r.Cause
	}
	return nil
}

// string reads a string without escapes.
func (r *reader) string() (string, bool) {
	if !r.skip(`"`) {
		return "", false
	}
	for i := r.at; i < len(r.text); i++ {
		switch c := r.text[i]; {
		case c < ' ':
			return "", false
		case c == '"':
			s := r.text[r.at:i]
			r.at = i + 1
			return s, true
		}
	}
	return "", false
}

// number reads the digits of a whole number as package json takes it; "" if there is none.
func (r *reader) number() string {
	from := r.at
	if r.at < len(r.text) && r.text[r.at] == '-' {
		r.at++
	}
	first := r.at
	for r.at < len(r.text) && r.text[r.at] >= '0' && r.text[r.at] <= '9' {
		r.at++
	}
	if r.at == first || r.text[first] == '0' && r.at-first > 1 {
		return ""
	}
	return r.text[from:r.at]
}

// unmarshal reads the records of a document.
func unmarshal(data []byte) (records []Record, err error) {
	if records, ok := quick(data); ok {
		return records, nil
	}
	err = json.Unmarshal(data, &records)
	return records, err
}
