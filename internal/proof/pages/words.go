package pages

import (
	"fmt"
	"strings"
)

// splitter cuts a line as a shell does.
type splitter struct {
	commands [][]string
	words    []string
	word     strings.Builder
	inWord   bool // also where the word is empty so far: ""
}

// split cuts a line into commands, and those into words.
func split(line string) ([][]string, error) {
	s := &splitter{}
	for i := 0; i < len(line); {
		n, err := s.next(line[i:])
		if err != nil {
			return nil, err
		}
		i += n
	}
	s.endCommand()
	return s.commands, nil
}

// next takes one sign, one quoted text, one operator or one comment, and tells how many bytes that were.
func (s *splitter) next(rest string) (int, error) {
	switch c := rest[0]; c {
	case ' ', '\t':
		s.endWord()
	case '#':
		if !s.inWord {
			return len(rest), nil
		}
		s.add(rest[:1])
	case '|', ';', '&':
		s.endCommand()
	case '\'', '"':
		inner, _, closed := strings.Cut(rest[1:], string(c))
		if !closed {
			return 0, fmt.Errorf("a quote %c is not closed", c)
		}
		s.add(inner)
		return len(inner) + 2, nil
	default:
		s.add(rest[:1])
	}
	return 1, nil
}

func (s *splitter) add(text string) {
	s.inWord = true
	s.word.WriteString(text)
}

func (s *splitter) endWord() {
	if s.inWord {
		s.words = append(s.words, s.word.String())
	}
	s.word.Reset()
	s.inWord = false
}

func (s *splitter) endCommand() {
	s.endWord()
	if len(s.words) > 0 {
		s.commands = append(s.commands, s.words)
	}
	s.words = nil
}
