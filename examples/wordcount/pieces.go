package main

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"path"
	"slices"
)

// nextPiece finds the piece of a file at a place: some bytes, and what is left of the last word. Last says that nothing
// comes after it.
func (w words) nextPiece(name string, at, size int64) (p piece, last bool, err error) {
	file, err := w.root.Open(name)
	if err != nil {
		return p, false, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return p, false, err
	}
	for end, chunk := at+size, make([]byte, 4<<10); ; end += int64(len(chunk)) {
		if end >= info.Size() {
			return piece{name, at, info.Size() - at}, true, nil
		}
		n, err := file.ReadAt(chunk, end)
		if err != nil && !errors.Is(err, io.EOF) {
			return p, false, err
		}
		if i := wordEnd(chunk[:n]); i < n {
			return piece{name, at, end + int64(i) - at}, false, nil
		}
	}
}

// text reads a piece.
func (w words) text(p piece) ([]byte, error) {
	file, err := w.root.Open(p.File)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text := make([]byte, p.Len)
	_, err = io.ReadFull(io.NewSectionReader(file, p.At, p.Len), text)
	return text, err
}

func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

// wordEnd is where the word ends that a text begins with.
func wordEnd(text []byte) int {
	for i, c := range text {
		if isSpace(c) {
			return i
		}
	}
	return len(text)
}

// tallies are how often each word is there.
type tallies map[string]*int

// add counts the words of a text.
func (t tallies) add(text []byte) {
	var word []byte
	for len(text) > 0 {
		if isSpace(text[0]) {
			text = text[1:]
			continue
		}
		end := wordEnd(text)
		word = append(word[:0], bytes.Trim(text[:end], `.,;:!?"'()`)...)
		for i, c := range word {
			if 'A' <= c && c <= 'Z' {
				word[i] = c + 'a' - 'A'
			}
		}
		if n := t[string(word)]; n != nil {
			*n++
		} else {
			one := 1
			t[string(word)] = &one
		}
		text = text[end:]
	}
}

// check compares the pieces of a sum with the texts: every byte is in one piece. A hole counts as one piece lost,
// however many it may have been.
func (w words) check(s *sum) error {
	slices.SortFunc(s.Pieces,
		func(a, b piece) int { return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.At, b.At)) })
	s.Segments = len(s.Pieces)
	for i := 0; i < len(s.Pieces); {
		file, at := s.Pieces[i].File, int64(0)
		for ; i < len(s.Pieces) && s.Pieces[i].File == file; i++ {
			switch p := s.Pieces[i]; {
			case p.At < at:
				s.Doubled++
			case p.At > at:
				s.Lost++
			}
			at = max(at, s.Pieces[i].At+s.Pieces[i].Len)
		}
		info, err := w.root.Stat(file)
		if err != nil {
			return err
		}
		if at < info.Size() {
			s.Lost++
		}
	}
	return w.checkFiles(s)
}

// checkFiles looks for texts that have no piece at all.
func (w words) checkFiles(s *sum) error {
	if len(s.Pieces) == 0 {
		return nil
	}
	texts, err := w.texts(path.Dir(s.Pieces[0].File))
	for _, name := range texts {
		info, statErr := w.root.Stat(name)
		if statErr != nil {
			return statErr
		}
		if info.Size() > 0 && !slices.ContainsFunc(s.Pieces, func(p piece) bool { return p.File == name }) {
			s.Lost++
		}
	}
	return err
}
