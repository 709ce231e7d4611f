package cluster

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
)

// shared is what the records of one snapshot have in common: names, definitions and whole specs that many of them say again are in memory once, and none of
// them keeps the snapshot's bytes.
type shared struct {
	next    string // expected: the name of the next partition
	strings [sharedNames]string
	blobs   [sharedNames][]byte
	texts   texts
	spec    *JobSpec // the last one that is shared
	as      []byte   // its encoding
}

// sharedNames is how many different names are known at a time.
const sharedNames = 256

func (s *shared) string(r *coder, b []byte) string {
	if s.next != "" && string(b) == s.next {
		return s.next
	}
	if len(b) == 0 {
		return ""
	}
	at := &s.strings[xxhash.Sum64(b)%sharedNames]
	if *at == string(b) {
		return *at
	}
	if !utf8.Valid(b) {
		r.fail("text that is not UTF-8")
	}
	*at = s.texts.copy(b)
	return *at
}

func (s *shared) blob(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	at := &s.blobs[xxhash.Sum64(b)%sharedNames]
	if !bytes.Equal(*at, b) {
		*at = bytes.Clone(b)
	}
	return *at
}

// jobSpec decodes a spec, or finds that the encoding begins with that of the last one: no encoding begins with another.
func (x *coder) jobSpec() *JobSpec {
	s := x.shared
	if s != nil && s.spec != nil && bytes.HasPrefix(x.data[x.off:], s.as) {
		x.off += len(s.as)
		return s.spec
	}
	from := x.off
	var spec JobSpec
	codeJobSpec(x, &spec)
	if s != nil && x.err == nil {
		s.spec, s.as = &spec, x.data[from:x.off]
	}
	return &spec
}

// texts makes strings that have their bytes in common blocks.
type texts struct{ block strings.Builder }

const textBlock = 8 << 10

func (t *texts) copy(b []byte) string {
	from := t.room(len(b))
	t.block.Write(b)
	return t.block.String()[from:]
}

// room is where a text of n bytes will begin.
func (t *texts) room(n int) int {
	if t.block.Cap()-t.block.Len() < n {
		t.block = strings.Builder{}
		t.block.Grow(max(textBlock, n))
	}
	return t.block.Len()
}
