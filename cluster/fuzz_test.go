package cluster

import (
	"bytes"
	"testing"
)

// FuzzApply reads the bytes as choices of what is written to the log.
func FuzzApply(f *testing.F) {
	f.Fuzz(func(t *testing.T, story []byte) {
		if len(story) > 300 {
			return // longer stories are slow and tell nothing new
		}
		v, log := played(t, string(story))
		mustAgree(t, v, log, len(log)/2)
		mustReact(t, v)
	})
}

// FuzzDecodeEntry: any bytes are refused, or are the only encoding of what was read, which can be applied.
func FuzzDecodeEntry(f *testing.F) {
	v, log := played(f, richStory(f))
	for _, data := range log {
		f.Add(data)
	}
	f.Add(append([]byte{entryMagic, byte(Format) | 0x80, 0}, log[0][2:]...)) // a number with a byte too many
	for _, sample := range samples() {
		f.Add(Entry{Index: 1, Writer: "w", Seq: 1, Commands: []Command{(&choices{}).filled(sample)}}.Encode())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := DecodeEntry(v.index+1, data)
		if err != nil {
			return
		}
		e.data = nil
		if again := e.Encode(); !bytes.Equal(again, data) {
			t.Fatalf("it was %x, and is written as %x", data, again)
		}
		e.Writer, e.Seq = "fuzz", 1
		after, _ := v.Apply(e)
		mustBelong(t, after)
		mustBeWhole(t, after)
	})
}

// FuzzDecodeSnapshot: any bytes are refused, or are the only encoding of what was read, to which entries can be
// applied.
func FuzzDecodeSnapshot(f *testing.F) {
	v, log := played(f, richStory(f))
	f.Add(Value{}.Snapshot())
	f.Add(v.Snapshot())
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := DecodeSnapshot(data)
		if err != nil {
			return
		}
		if again := v.Snapshot(); !bytes.Equal(again, data) {
			t.Fatalf("it was %x, and is written as %x", data, again)
		}
		_ = v.String()
		for _, entry := range log {
			if e, err := DecodeEntry(v.index+1, entry); err == nil {
				v, _ = v.Apply(e)
			}
		}
	})
}
