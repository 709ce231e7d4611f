package zookeeper

import (
	"bytes"
	"encoding/binary"
	"net"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rota-run/rota/store"
)

// TestKeysAndNodesAreOneToOne checks that no two keys share a node, and that a key is found below its prefixes only.
func TestKeysAndNodesAreOneToOne(t *testing.T) {
	t.Parallel()
	segment := rapid.OneOf(rapid.StringMatching(`[A-Za-z0-9._#@=:-]{1,6}`), rapid.SampledFrom([]string{".", "..", "...", "a", "b"}))
	key := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(segment, 1, 4).Draw(t, "segments"), "/") })
	rapid.Check(t, func(t *rapid.T) {
		k, other := key.Draw(t, "key"), key.Draw(t, "other")
		if err := store.CheckKey(k); err != nil {
			t.Fatal(err)
		}
		folder, name := split(k)
		if strings.Contains(folder+name, "/") || name == "." || name == ".." || name == "" {
			t.Fatalf("key %q: node %q in %q", k, name, folder)
		}
		f, ok := folderKey(folder)
		if got := join(f, name); !ok || got != k {
			t.Fatalf("key %q came back as %q from %q in %q", k, got, name, folder)
		}
		of, on := split(other)
		if k != other && folder == of && name == on {
			t.Fatalf("keys %q and %q have the same node", k, other)
		}
		for i := range k {
			if prefix := k[:i+1]; k[i] == '/' && !inside(f, prefix) {
				t.Fatalf("key %q in folder %q is not found under %q", k, f, prefix)
			}
		}
		if prefix := other + "/"; inside(f, prefix) != strings.HasPrefix(k, prefix) {
			t.Fatalf("key %q, prefix %q: inside is %v", k, prefix, inside(f, prefix))
		}
	})
}

// FuzzDecode decodes any data of a node: what is accepted is encoded to the same data.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("12 3 3"))
	f.Add([]byte("12 abcdefghijklmnop 1 17 00c0ffee"))
	f.Add([]byte("abcdefghijklmnop\nvalue"))
	f.Add([]byte("rota 1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if h, err := decodeHeader(data); err == nil {
			if again, err := decodeHeader(h.encode()); err != nil || again != h || h.freed > h.trimmed || h.trimmed > h.head {
				t.Errorf("header %+v came back as %+v, %v", h, again, err)
			}
		}
		if p, err := decodePointer(data); err == nil && p.index != 0 {
			if again, err := decodePointer(p.encode()); err != nil || again != p {
				t.Errorf("pointer %+v came back as %+v, %v", p, again, err)
			}
		}
		if life, value := decodeDoc(data); life != "" && !bytes.Equal(encodeDoc(life, value), data) || life == "" && !bytes.Equal(value, data) {
			t.Errorf("document %q came back as %q and %q", data, life, value)
		}
		if life, n, ok := parseVersion(store.Version(data)); ok && n == -1 || strings.Contains(life, "/") {
			t.Errorf("version %q means any version, or another node", data)
		}
		_ = checkMarker(data) // must not panic
	})
}

// TestVersionsComeBack encodes and parses versions.
func TestVersionsComeBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		life, n := newLife(), rapid.Int32().Draw(t, "n")
		gotLife, got, ok := parseVersion(version(life, n))
		if ok != (n != -1) || ok && (gotLife != life || got != n) {
			t.Fatalf("version %q: %q, %d, %v", version(life, n), gotLife, got, ok)
		}
	})
}

// stream is a connection whose reads return given chunks.
type stream struct {
	net.Conn
	chunks [][]byte
}

func (s *stream) Read(p []byte) (int, error) {
	n := copy(p, s.chunks[0])
	if s.chunks[0] = s.chunks[0][n:]; len(s.chunks[0]) == 0 {
		s.chunks = s.chunks[1:]
	}
	return n, nil
}

func (s *stream) Write(p []byte) (int, error) { return len(p), nil }

// packet returns a packet of 32-bit words after its length.
func packet(words ...int32) []byte {
	var body []byte
	for _, w := range words {
		body = binary.BigEndian.AppendUint32(body, uint32(w))
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

// TestWireUnderstandsAnyChunks cuts a stream of answers at random places, which must not change what the wire sees in it.
func TestWireUnderstandsAnyChunks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfN(rapid.Int32Range(1, 100), 0, 8).Draw(t, "ids")
		all := packet(0, 1500, 7, 8, 0, 0)
		for _, id := range ids {
			all = append(all, packet(id, 0, 5, 0, 1, 2, 3)...)
			if rapid.Bool().Draw(t, "event") {
				all = append(all, packet(-1, 0, 0, 0, 9)...)
			}
		}
		all = append(all, packet(-2)...)
		s := &stream{}
		for rest := all; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "chunk")
			s.chunks, rest = append(s.chunks, rest[:n]), rest[n:]
		}
		var granted time.Duration
		answers, closed := 0, false
		w := &wire{Conn: s, sent: map[int32]time.Time{}}
		w.onShake = func(_ time.Time, d time.Duration) { granted = d }
		w.onAnswer = func(time.Time) { answers++ }
		w.onClosed = func() { closed = true }
		unique := map[int32]bool{}
		for i, p := range [][]byte{packet(0, 0), packet(77, opClose)} {
			if _, err := w.Write(p); err != nil {
				t.Fatal(i, err)
			}
		}
		w.ping()
		for _, id := range ids {
			unique[id] = true
			w.Write(packet(id, 4))
		}
		unique[77] = true
		buf := make([]byte, rapid.IntRange(1, 64).Draw(t, "buffer"))
		for len(s.chunks) > 0 {
			if _, err := w.Read(buf); err != nil {
				t.Fatal(err)
			}
		}
		want := 1 // the ping
		for id := range unique {
			for _, seen := range ids {
				if seen == id {
					want++
					break
				}
			}
		}
		wantClosed := false
		for _, id := range ids {
			wantClosed = wantClosed || id == 77
		}
		if granted != 1500*time.Millisecond || answers != want || closed != wantClosed {
			t.Fatalf("granted %v, %d answers, closed %v; want 1.5s, %d, %v", granted, answers, closed, want, wantClosed)
		}
	})
}
