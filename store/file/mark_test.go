package file

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rota-run/rota/internal/proof/must"
)

// TestMark: a mark that is not there, is half there, or was never written refuses nothing.
func TestMark(t *testing.T) {
	t.Parallel()
	dir := place(t)
	s := openIn(t, dir, Options{})
	fillLog(t, s, 3, 10)
	if got, err := s.bell.mark(); err != nil || got != 3 {
		t.Fatalf("mark %d, %v; want 3", got, err)
	}
	for _, raw := range [][]byte{{}, make([]byte, markSize), binary.LittleEndian.AppendUint64(nil, 9),
		[]byte(strings.Repeat(strconv.Itoa(7), markSize))} {
		must.Succeed(t, os.Truncate(filepath.Join(dir, bellName), markAt))
		must.Succeed(t, must.Err(s.bell.file.WriteAt(raw, markAt)))
		if got, err := s.bell.mark(); err != nil || got != 0 {
			t.Errorf("mark of % x: %d, %v; want none", raw, got, err)
		}
	}
	fillLog(t, s, 1, 10)
	if got, err := s.bell.mark(); err != nil || got != 4 {
		t.Errorf("mark %d, %v; want 4", got, err)
	}
	must.Succeed(t, s.bell.setMark(1))
	if err := s.unused(); !errors.Is(err, ErrDamaged) {
		t.Errorf("a store without tables, of which one record was acknowledged: %v", err)
	}
}
