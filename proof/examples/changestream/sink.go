package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/rota-run/rota"
)

// sink is the output, one file to which all processes append.
type sink struct{ file *os.File }

func openSink(path string) (*sink, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644) //nolint:gosec // the user names it
	return &sink{f}, err
}

// line is one change in the output, with who has written it.
type line struct {
	Member, Partition string
	Token             uint64
	change
}

// over ends a line. What a killed process has written in part does not have it.
const over = " ."

func (l line) String() string {
	return fmt.Sprintf("%s %s %d %d %d%s", l.Member, l.Partition, l.Token, l.at, l.key, over)
}

// read reads a line back.
func (l *line) read(text string) bool {
	text, whole := strings.CutSuffix(text, over)
	if !whole {
		return false
	}
	n, err := fmt.Sscanf(text, "%s %s %d %d %d", &l.Member, &l.Partition, &l.Token, &l.at, &l.key)
	return err == nil && n == 5 && l.String() == text+over
}

var errEnded = errors.New("the grant has ended")

// write appends changes in one call. It begins a line of its own: another process may have left one without its end.
func (s *sink) write(g *rota.Grant, some []change) error {
	if !g.Valid() {
		return errEnded
	}
	var text strings.Builder
	for _, c := range some {
		fmt.Fprintf(&text, "\n%s", line{string(g.Member), g.Key, uint64(g.Token), c})
	}
	text.WriteByte('\n')
	_, err := s.file.WriteString(text.String())
	return err
}
