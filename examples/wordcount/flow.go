package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/rota-run/rota"
	"github.com/rota-run/rota/work"
)

// tally is a segment: how often some lines have a word.
type tally struct {
	Word string `json:"word"`
	N    int    `json:"n"`
}

// mark is how far the texts were read: so many lines of so many whole files before.
type mark struct{ Files, Lines int }

// flowTypes are the stages of flow.yaml.
func (w words) flowTypes() []rota.Type {
	return []rota.Type{
		rota.NewInput("wordcount.lines", rota.Input[linesConfig, string]{Read: w.lines}),
		rota.NewStage("wordcount.words", rota.Stage[wordsConfig, string, tally]{Do: countWords}),
		rota.NewOutput("wordcount.total", rota.Output[struct{}, tally]{Write: w.addTotal, Seal: w.sealTotal}),
	}
}

type linesConfig struct {
	Text  string        `json:"text"`
	Pause work.Duration `json:"pause"` // before each read
}

// lines reads at most a hundred lines behind a mark.
func (w words) lines(ctx context.Context, _ *rota.Grant, c linesConfig, at []byte, out *rota.Sender[string]) (next []byte, end bool, err error) {
	var m mark
	if at != nil {
		if err := json.Unmarshal(at, &m); err != nil {
			return nil, false, err
		}
	}
	if err := sleep(ctx, c.Pause); err != nil {
		return nil, false, err
	}
	texts, err := fs.Glob(w.root.FS(), path.Join(c.Text, "*.txt"))
	if err != nil || m.Files >= len(texts) {
		return nil, true, err
	}
	file, err := w.root.Open(texts[m.Files])
	if err != nil {
		return nil, false, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for n := 0; lines.Scan(); n++ {
		if n == m.Lines+100 {
			next, err = json.Marshal(mark{m.Files, n})
			return next, false, err
		}
		if n >= m.Lines {
			_ = out.Send(lines.Text()) // an error fails the batch by itself
		}
	}
	next, _ = json.Marshal(mark{Files: m.Files + 1}) // never fails
	return next, false, lines.Err()
}

type wordsConfig struct {
	Pause work.Duration `json:"pause"` // before each batch
}

func countWords(ctx context.Context, _ *rota.Grant, c wordsConfig, in []string, out *rota.Sender[tally]) error {
	of := make(map[string]int)
	for _, line := range in {
		for _, word := range strings.Fields(line) {
			of[strings.ToLower(strings.Trim(word, `.,;:!?"'()`))]++
		}
	}
	for word, n := range of {
		_ = out.Send(tally{word, n}) // an error fails the batch by itself
	}
	return sleep(ctx, c.Pause)
}

// addTotal writes a file for each batch. Who gets the same batch again writes the same file: so each word counts once.
func (w words) addTotal(ctx context.Context, g *rota.Grant, _ struct{}, in []tally) error {
	n := counted{Of: make(map[string]int), By: g.Key}
	for _, t := range in {
		n.Words += t.N
		n.Of[t.Word] += t.N
	}
	return w.putJSON(g, place(g, "flow", rota.BatchName(ctx)+".json"), n)
}

// sealTotal adds up the files, when all are there.
func (w words) sealTotal(_ context.Context, g *rota.Grant, _ struct{}) error {
	files, err := fs.Glob(w.root.FS(), place(g, "flow", "*.json"))
	if err != nil {
		return err
	}
	slices.Sort(files)
	all := counted{Of: make(map[string]int), By: g.Key}
	for _, name := range files {
		var n counted
		if err := w.getJSON(name, &n); err != nil {
			return err
		}
		all.Words += n.Words
		for word, k := range n.Of {
			all.Of[word] += k
		}
	}
	return w.putJSON(g, place(g, "total.json"), all)
}
