package pages

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rota-run/rota/internal/proof/pages"
)

// Guide is what the page of a store has a new user do. The texts are those of the page.
type Guide struct {
	Store    string // the address that all its commands name
	Programs string // builds the programs, in the folder of the repository
	Server   string // starts the server in an empty folder; "" where the store has none
	Check    string // asks whether the store is fit
	Run      string // starts a member
	Members  string // shows the members
	Tasks    string // shows who runs which task
}

// The sections that are tried.
const (
	fromNothing  = "From nothing"
	threeMembers = "Three members"
)

// ReadGuide reads the sections "From nothing" and "Three members" of a page. In the first one stand, each in a block of
// its own: how the programs are built, how the server is started where the store has one, and the check. Blocks that
// begin with docker are another way. In the other section stand the line of a member, and those that look at the
// members and at their tasks. An error tells what is not so.
func ReadGuide(page string) (Guide, error) {
	blocks, err := pages.Blocks(page)
	if err != nil {
		return Guide{}, err
	}
	var g Guide
	if err := g.nothing(blocks); err != nil {
		return Guide{}, fmt.Errorf("section %q: %w", fromNothing, err)
	}
	if err := g.members(blocks); err != nil {
		return Guide{}, fmt.Errorf("section %q: %w", threeMembers, err)
	}
	return g, nil
}

// nothing reads the first section.
func (g *Guide) nothing(blocks []pages.Block) error {
	for _, b := range blocks {
		if b.Section != fromNothing {
			continue
		}
		commands, err := pages.Commands(b)
		if err != nil {
			return err
		}
		if len(commands) == 0 || commands[0].Words[0] == "docker" {
			continue
		}
		if err := g.sort(b, commands); err != nil {
			return fmt.Errorf("line %d: %w", b.Line, err)
		}
	}
	switch {
	case g.Programs == "":
		return errors.New("no block builds the programs (go build -o bin/rota ./cmd/rota)")
	case g.Check == "":
		return errors.New("no block has rota store check STORE")
	case g.Server == "" && !strings.HasPrefix(g.Store, "file:"):
		return errors.New("no block starts the server")
	}
	return nil
}

// onPath is what makes the shell find what was built.
const onPath = "export PATH=$PWD/bin:$PATH"

// sort tells what a block is for.
func (g *Guide) sort(b pages.Block, commands []pages.Command) error {
	place := &g.Server
	switch first := commands[0]; {
	case begins(first, "go", "build"):
		place = &g.Programs
		if last := commands[len(commands)-1]; last.String() != onPath {
			return fmt.Errorf("the programs are built and not found: end the block with %s", onPath)
		}
	case first.Words[0] == "rota":
		place = &g.Check
		if !begins(first, "rota", "store", "check") || len(first.Words) != 4 || len(commands) != 1 {
			return fmt.Errorf("%q is not rota store check STORE", first)
		}
		g.Store = first.Words[3]
	}
	if *place != "" {
		return fmt.Errorf("a second block of its kind: %q", commands[0])
	}
	*place = b.Text
	return nil
}

// begins reports whether a command begins with words.
func begins(c pages.Command, words ...string) bool {
	return len(c.Words) >= len(words) && slices.Equal(c.Words[:len(words)], words)
}

// members reads the second section.
func (g *Guide) members(blocks []pages.Block) error {
	var lines []string
	for _, b := range blocks {
		if b.Section == threeMembers {
			lines = append(lines, strings.Split(strings.TrimSuffix(b.Text, "\n"), "\n")...)
		}
	}
	places := []*string{&g.Run, &g.Members, &g.Tasks}
	if len(lines) != len(places) {
		return fmt.Errorf("%d lines: it has rota run, rota member list and rota task list, one line each, and what is not tried stands elsewhere", len(lines))
	}
	for i, want := range []string{"run", "member list", "task list"} {
		commands, err := pages.Commands(pages.Block{Text: lines[i]})
		switch {
		case err != nil:
			return fmt.Errorf("%q: %w", lines[i], err)
		case len(commands) != 1 || !begins(commands[0], append([]string{"rota"}, strings.Fields(want)...)...):
			return fmt.Errorf("%q is not rota %s", lines[i], want)
		case commands[0].Option("--store") != g.Store:
			return fmt.Errorf("%q names another store than the check, which was made of %q", lines[i], g.Store)
		}
		*places[i] = lines[i]
	}
	return nil
}
