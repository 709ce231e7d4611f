package main

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/work"
)

// manifest says what split made.
type manifest struct {
	Files  int `json:"files"`
	Chunks int `json:"chunks"`
}

// split cuts the texts into chunks of so many lines.
func (w words) split(ctx context.Context, g *rota.Grant, c struct {
	Text  string        `json:"text"`
	Lines int           `json:"lines"`
	Pause work.Duration `json:"pause"` // before each text
}) error {
	made := place(g, "chunks.json")
	if done, err := w.exists(made); err != nil || done {
		return err
	}
	if c.Text == "" || c.Lines < 1 {
		return fmt.Errorf("config: text names a directory, and lines is above zero")
	}
	var m manifest
	err := fs.WalkDir(w.root.FS(), c.Text, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !d.Type().IsRegular():
			return nil
		}
		if err := sleep(ctx, c.Pause); err != nil {
			return err
		}
		m.Files++
		return w.cut(g, name, c.Lines, &m.Chunks)
	})
	if err != nil {
		return err
	}
	return w.putJSON(g, made, m)
}

// cut cuts one text.
func (w words) cut(g *rota.Grant, name string, lines int, chunks *int) error {
	data, err := w.root.ReadFile(name)
	if err != nil {
		return err
	}
	var chunk strings.Builder
	n := 0
	flush := func() error {
		if n == 0 {
			return nil
		}
		n = 0
		*chunks++
		err := w.put(g, place(g, "chunks", chunkName(*chunks)+".txt"), []byte(chunk.String()))
		chunk.Reset()
		return err
	}
	for line := range strings.Lines(string(data)) {
		chunk.WriteString(line)
		if n++; n == lines {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}
