package file

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// helpAppendTen appends ten records, prints the last index and waits to be killed, so that the journal stays as it is.
func helpAppendTen(ctx context.Context, dir string, out io.Writer) error {
	s, err := Open(ctx, dir, Options{})
	if err != nil {
		return err
	}
	var index uint64
	for range 10 {
		if index, err = s.Append(ctx, make([]byte, 3000)); err != nil {
			return err
		}
	}
	fmt.Fprintln(out, index)
	<-ctx.Done()
	return nil
}

// killedStore is a directory in which somebody was killed after ten acknowledged records.
func killedStore(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	closed(t, dir) // the tables are in the database itself, the records in the journal
	p := start(t, "append ten", dir)
	if text, ok := p.line(); !ok || text != "10" {
		t.Fatalf("the helper said %q", text)
	}
	p.kill()
	return dir
}

func TestALostTailIsNoticed(t *testing.T) {
	t.Parallel()
	journal := func(dir string) string { return filepath.Join(dir, dbName+"-wal") }
	for _, c := range []struct {
		name string
		harm func(dir string) error
	}{
		{"half of the journal", func(dir string) error {
			info, err := os.Stat(journal(dir))
			if err != nil {
				return err
			}
			return os.Truncate(journal(dir), info.Size()/2)
		}},
		{"its last transaction", func(dir string) error {
			info, err := os.Stat(journal(dir))
			if err != nil {
				return err
			}
			return os.Truncate(journal(dir), info.Size()-1)
		}},
		{"all of it", func(dir string) error { return os.Remove(journal(dir)) }},
		{"all of it, and nothing was in the database yet", func(dir string) error {
			return errors.Join(os.Remove(journal(dir)), os.Truncate(filepath.Join(dir, dbName), 0))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := killedStore(t)
			if err := c.harm(dir); err != nil {
				t.Fatal(err)
			}
			for _, o := range []Options{{ReadOnly: true}, {}, {ReadOnly: true}} { // who only looks comes first, and finds nothing mended
				s, err := Open(deadline(t), dir, o)
				if err == nil {
					s.Close()
				}
				if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "10 was acknowledged") {
					t.Errorf("open, read only %v: %v; want damaged, and how far it reached", o.ReadOnly, err)
				}
			}
			if err := os.Remove(filepath.Join(dir, bellName)); err != nil {
				t.Fatal(err)
			}
			s := openIn(t, dir, Options{})
			if index, err := s.Append(deadline(t), nil); err != nil || index > 10 {
				t.Errorf("append to what is left: index %d, %v", index, err)
			}
		})
	}
}

func TestAKilledStoreIsWhole(t *testing.T) {
	t.Parallel()
	s := openIn(t, killedStore(t), Options{})
	if got := records(t, s); len(got) != 10 {
		t.Errorf("%d records, want 10", len(got))
	}
}

// TestMark: a mark that is not there, is half there, or was never written refuses nothing.
func TestMark(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openIn(t, dir, Options{})
	fillLog(t, s, 3, 10)
	if got, err := s.bell.mark(); err != nil || got != 3 {
		t.Fatalf("mark %d, %v; want 3", got, err)
	}
	for _, raw := range [][]byte{{}, make([]byte, markSize), binary.LittleEndian.AppendUint64(nil, 9), []byte(strings.Repeat(strconv.Itoa(7), markSize))} {
		if err := os.Truncate(filepath.Join(dir, bellName), markAt); err != nil {
			t.Fatal(err)
		}
		if _, err := s.bell.file.WriteAt(raw, markAt); err != nil {
			t.Fatal(err)
		}
		if got, err := s.bell.mark(); err != nil || got != 0 {
			t.Errorf("mark of % x: %d, %v; want none", raw, got, err)
		}
	}
	fillLog(t, s, 1, 10)
	if got, err := s.bell.mark(); err != nil || got != 4 {
		t.Errorf("mark %d, %v; want 4", got, err)
	}
}
