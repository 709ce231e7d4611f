package command

import (
	"slices"
	"strings"

	"github.com/rota-run/rota/internal/plain"
	"github.com/rota-run/rota/journal"
	"github.com/rota-run/rota/rotacmd/internal/storeurl"
)

// openStorages opens the places that get a copy of each record of the journal.
func (e env) openStorages(texts []string) ([]journal.Appender, error) {
	var all []journal.Appender
	for i, text := range texts {
		if slices.Contains(texts[:i], text) {
			return nil, misused("each storage once", "storage %s: it is there twice", storeurl.Hide(text))
		}
		s, err := e.openStorage(text)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func (e env) openStorage(text string) (journal.Appender, error) {
	kind, rest, _ := strings.Cut(text, ":")
	if kind == "file" && rest != "" {
		f, err := journal.NewFile(rest)
		if err != nil {
			return nil, failed("another --storage", "%w", err)
		}
		return f, nil
	}
	known := []string{"file"}
	for _, k := range e.own.Storages {
		if k.Scheme != kind {
			known = append(known, k.Scheme)
			continue
		}
		s, err := k.Open(rest)
		if err != nil {
			return nil, failed("another --storage", "storage %s: %w", storeurl.Hide(text), err)
		}
		return s, nil
	}
	near, ok := plain.Nearest(kind, known)
	if !ok {
		near = "file"
	}
	if near == "file" {
		near += ":PATH"
	} else {
		near += ":…"
	}
	return nil, misused("--storage "+near, "storage %q: unknown kind", storeurl.Hide(text))
}
