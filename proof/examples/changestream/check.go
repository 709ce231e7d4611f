package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// check reads an output and verifies it.
type check struct {
	stream *stream
	read   map[string]progress
	keys   [keys]int // the position of the newest change of each key
	report
}

// progress is how far a partition was read.
type progress struct {
	token  uint64 // the newest
	under  int    // how many of its changes precede the last one under this token, with it
	most   int    // under any token
	tokens int
}

// report is what an output has.
type report struct {
	Changes, Partitions int
	Again               int // lines of changes that were there already, under an older token
	Tokens              int // more than one for each partition
	Old, Cut            int // lines that readers pass over: of an old token, and without their end
}

func (r report) String() string {
	return fmt.Sprintf("%d changes of %d partitions: none lost, each once per token, in the order of each key; %d written again under %d newer tokens, %d of old tokens, %d cut",
		r.Changes, r.Partitions, r.Again, r.Tokens, r.Old, r.Cut)
}

// verify returns what an output has, or the first thing that is wrong in it.
func verify(s *stream, in io.Reader) (report, error) {
	c := check{stream: s, read: make(map[string]progress)}
	lines := bufio.NewScanner(in)
	for n := 1; lines.Scan(); n++ {
		var l line
		switch {
		case lines.Text() == "":
		case !l.read(lines.Text()):
			c.Cut++
		default:
			if err := c.take(l); err != nil {
				return c.report, fmt.Errorf("line %d: %s: %w", n, l, err)
			}
		}
	}
	if err := lines.Err(); err != nil {
		return c.report, err
	}
	for _, p := range s.all {
		if n := c.read[p.name].most; n < len(p.changes) {
			return c.report, fmt.Errorf("%s has %d changes, and %d were written: %w", p.name, len(p.changes), n,
				errLost)
		}
	}
	c.Partitions = len(s.all)
	return c.report, nil
}

var (
	errForeign  = errors.New("the stream has no such change")
	errLost     = errors.New("changes are lost")
	errTwice    = errors.New("the change was written before under the same token")
	errContinue = errors.New("a partition that continues this one was read before")
	errOrder    = errors.New("a later change of the key was written before")
)

// take verifies one line.
func (c *check) take(l line) error {
	p := c.stream.named[l.Partition]
	if p == nil {
		return errForeign
	}
	at := c.read[p.name]
	switch {
	case l.Token < at.token:
		c.Old++
		return nil
	case l.Token > at.token:
		at.token, at.under = l.Token, -1 // it may begin anywhere where nothing is lost
		if at.tokens++; at.tokens > 1 {
			c.Tokens++
		}
	}
	i := p.index(l.change)
	switch {
	case i < 0:
		return errForeign
	case i > at.most || at.under >= 0 && i > at.under:
		return errLost
	case i < at.under:
		return errTwice
	}
	for _, child := range p.children {
		if c.read[child.name].tokens > 0 {
			return errContinue
		}
	}
	at.under = i + 1
	if i < at.most {
		c.Again++
	} else if err := c.next(l.change); err != nil {
		return err
	}
	at.most = max(at.most, i+1)
	c.read[p.name] = at
	return nil
}

// next verifies the order of a key.
func (c *check) next(l change) error {
	if l.at <= c.keys[l.key] {
		return errOrder
	}
	c.keys[l.key] = l.at
	c.Changes++
	return nil
}
