package zookeeper

import (
	"bytes"
	"encoding/binary"
	"net"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rota-run/rota/internal/proof/must"
	"github.com/rota-run/rota/store"
	"github.com/rota-run/rota/store/driver"
)

// TestKeysAndNodesAreOneToOne checks that no two keys share a node, and that a key is found below its prefixes only.
func TestKeysAndNodesAreOneToOne(t *testing.T) {
	t.Parallel()
	segment := rapid.OneOf(rapid.StringMatching(`[A-Za-z0-9._#@=:-]{1,6}`),
		rapid.SampledFrom([]string{".", "..", "...", "a", "b"}))
	key := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(segment, 1, 4).Draw(t, "segments"), "/")
	})
	rapid.Check(t, func(t *rapid.T) {
		k, other := key.Draw(t, "key"), key.Draw(t, "other")
		must.Succeed(t, store.CheckKey(k))
		folder, name := split(k)
		if strings.Contains(folder+name, "/") || name == "." || name == ".." || name == "" {
			t.Fatalf("key %q: node %q in %q", k, name, folder)
		}
		dir, ok := dirOf(folder)
		if got := join(dir, name); !ok || got != k {
			t.Fatalf("key %q came back as %q from %q in %q", k, got, name, folder)
		}
		of, on := split(other)
		if k != other && folder == of && name == on {
			t.Fatalf("keys %q and %q have the same node", k, other)
		}
		for i := range k {
			if prefix := k[:i+1]; !covers(dir, prefix) {
				t.Fatalf("key %q in folder %q is not found under %q", k, dir, prefix)
			}
		}
		if prefix := other + "/"; covers(dir, prefix) != strings.HasPrefix(k, prefix) &&
			dir != prefix[:min(len(dir), len(prefix))] {
			t.Fatalf("key %q, prefix %q: covers is %v", k, prefix, covers(dir, prefix))
		}
	})
}

// TestRowsOfOthers: what is no row of ours is a row of another program, with all its bytes, and what is no version of
// ours is refused.
func TestRowsOfOthers(t *testing.T) {
	t.Parallel()
	for _, data := range []string{"", "x", "a\nb", "short\na.1\nvalue", "abcdefghijklmnopq\na.1\nvalue"} {
		if life, name, value := decodeRow([]byte(data)); life != "" || name != "" || string(value) != data {
			t.Errorf("%q is a row of life %q with name %q and value %q", data, life, name, value)
		}
	}
	for _, v := range []driver.Version{"", "1", "x.1", "a/b/c/d/e/f/g/hi.1", "abcdefghijklmnop.-1", "abcdefghijklmnop.",
		"abcdefghijklmnop.99999999999"} {
		if life, n, ok := parseVersion(v); ok {
			t.Errorf("version %q is %d of life %q", v, n, life)
		}
	}
	o := Options{Path: "/rota"}
	for path, want := range map[string]bool{"/rota/rows/+d/k": true, "/rota/rows/other/k": false,
		"/rota/lives/x": false} { // order-free
		if folder, ok := o.folderOf(path); ok != want || ok && folder != "/rota/rows/+d" {
			t.Errorf("%s is in folder %q: %v", path, folder, ok)
		}
	}
}

// FuzzDecode decodes any data of a node: what is accepted is encoded to the same data.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("abcdefghijklmnop\na.1\nvalue"))
	f.Add([]byte("\n\nvalue"))
	f.Add([]byte("rota 1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		life, name, value := decodeRow(data)
		if ours := life != "" || name != "" || len(value) != len(data); ours &&
			!bytes.Equal(encodeRow(life, name, value), data) {
			t.Errorf("row %q came back as %q, %q and %q", data, life, name, value)
		}
		if life, n, ok := parseVersion(driver.Version(data)); ok && n == -1 || strings.Contains(life, "/") {
			t.Errorf("version %q means any version, or another node", data)
		}
		_ = checkMarker(data) // must not panic
	})
}

// TestVersionsComeBack encodes and parses versions.
func TestVersionsComeBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		life, n := rapid.SampledFrom([]string{"", newLife()}).Draw(t, "life"), rapid.Int32().Draw(t, "n")
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

// TestWireUnderstandsAnyChunks cuts a stream of answers at random places, which must not change what the wire sees in
// it.
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
			must.Succeed(t, must.Err(w.Read(buf)))
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
