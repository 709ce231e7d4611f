package tasks

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// fileID is a file's identity on its machine; zero where the system has none.
type fileID struct{ dev, ino uint64 }

// tailMark is the stored position in one file. Inode numbers are used again, so a mark only fits a file that has the same bytes around it.
type tailMark struct {
	Path   string `json:"path"`
	Dev    uint64 `json:"dev"`
	Ino    uint64 `json:"ino"`
	Offset int64  `json:"offset"`
	Sum    string `json:"sum"` // of the first bytes and of those before Offset
}

// tailPosition is what is stored; v tells a later Rota what it reads.
type tailPosition struct {
	V     int        `json:"v"`
	Files []tailMark `json:"files"`
}

func (m tailMark) id() fileID { return fileID{m.Dev, m.Ino} }

// fits reports whether the file may be the one of the mark: the same inode, or the same path with enough bytes to compare, for a file that
// was restored or copied to another disk.
func (m tailMark) fits(f *tailFile) bool {
	return m.id() == f.id || m.Path == f.path && m.Offset >= window
}

// to goes to a mark, if the bytes around it are the same.
func (t *tailFile) to(m tailMark) bool {
	if m.Offset < 0 {
		return false
	}
	head, before, err := around(t.f, m.Offset)
	return err == nil && sumOf(head, before) == m.Sum && t.seek(m.Offset) == nil
}

// mark is made of what was read, not of what the file holds now: it may just have been rewritten.
func (t *tailFile) mark() tailMark {
	n := min(t.offset, window)
	return tailMark{Path: t.path, Dev: t.id.dev, Ino: t.id.ino, Offset: t.offset, Sum: sumOf(t.head[:n], t.settled[int64(len(t.settled))-n:])}
}

func sumOf(head, before []byte) string {
	h := sha256.New()
	h.Write(head)
	h.Write(before)
	return hex.EncodeToString(h.Sum(nil)[:12])
}

func encodeMarks(files []tailMark) ([]byte, error) {
	b, err := json.Marshal(tailPosition{V: 1, Files: files})
	if err != nil {
		return nil, fmt.Errorf("encode position: %w", err)
	}
	return b, nil
}

// decodeMarks reads a stored position; nil has no marks.
func decodeMarks(b []byte) ([]tailMark, error) {
	if b == nil {
		return nil, nil
	}
	var p tailPosition
	if err := json.Unmarshal(b, &p); err != nil {
		return nil, fmt.Errorf("decode position: %w", err)
	}
	if p.V != 1 {
		return nil, fmt.Errorf("decode position: version %d is not known; a newer Rota may have written it", p.V)
	}
	return p.Files, nil
}
