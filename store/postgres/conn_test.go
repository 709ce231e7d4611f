package postgres

import (
	"bytes"
	"net"
	"slices"
	"testing"
)

// TestParameters: nothing, no bytes and no text are different from each other.
func TestParameters(t *testing.T) {
	t.Parallel()
	values, formats := parameters([]any{nil, []byte(nil), []byte{1}, "", "x", int64(-5), 7})
	want := [][]byte{nil, {}, {1}, {}, []byte("x"), []byte("-5"), []byte("7")}
	for i := range want {
		if !bytes.Equal(values[i], want[i]) || (values[i] == nil) != (want[i] == nil) {
			t.Errorf("parameter %d is %#v, want %#v", i, values[i], want[i])
		}
	}
	if !slices.Equal(formats, []int16{0, 1, 1, 0, 0, 0, 0}) {
		t.Errorf("formats %v", formats)
	}
}

// TestArray holds the binary form against what the server's documentation says of it.
func TestArray(t *testing.T) {
	t.Parallel()
	want := []byte{
		0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 17, 0, 0, 0, 2, 0, 0, 0, 1,
		0, 0, 0, 2, 'a', 'b',
		0, 0, 0, 0,
	}
	if got := arrayOf(17, [][]byte{[]byte("ab"), {}}); !bytes.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got, want := arrayOf(25, []string{}), []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 25}; !bytes.Equal(got, want) {
		t.Errorf("an empty array is %v, want %v", got, want)
	}
}

func TestSameAddress(t *testing.T) {
	t.Parallel()
	ours := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 5), Port: 4711}
	for _, c := range []struct {
		host string
		port int32
		same bool
	}{
		{"10.0.0.5", 4711, true}, {"::ffff:10.0.0.5", 4711, true}, {"10.0.0.5", 4712, false}, {"10.0.0.6", 4711, false},
		{"", 4711, false},
	} {
		if got := sameAddress(ours, c.host, c.port); got != c.same {
			t.Errorf("%s %d: %v", c.host, c.port, got)
		}
	}
	if sameAddress(&net.UnixAddr{Name: "x"}, "10.0.0.5", 4711) {
		t.Error("a socket that has no port is the same")
	}
}

func TestVersionsAndNumbers(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 1000 {
		v := string(newVersion())
		if len(v) != 20 || seen[v] || newID() < 0 {
			t.Fatalf("version %q, seen %v", v, seen[v])
		}
		seen[v] = true
	}
}
