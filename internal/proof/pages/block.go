package pages

import (
	"fmt"
	"strings"
)

// Block is a fenced block of a document.
type Block struct {
	Section string // the heading of the second level above it; "" above the first one
	Info    string // what stands behind the opening fence: the language
	Line    int    // the number of its first line of text, from 1 on
	Text    string // without the fences; each line ends with \n
	Mark    string // the text of a comment, <!-- … -->, on the line before
}

const fence = "```"

// Blocks are the fenced blocks of a document, in its order. It is an error if the last one is not closed.
func Blocks(document string) ([]Block, error) {
	var blocks []Block
	var open *Block
	section, before, n := "", "", 0
	for line := range strings.Lines(document) {
		n++
		line = strings.TrimRight(line, "\r\n")
		info, isFence := strings.CutPrefix(strings.TrimSpace(line), fence)
		switch {
		case open != nil && isFence:
			blocks = append(blocks, *open)
			open = nil
		case open != nil:
			open.Text += line + "\n"
		case isFence:
			open = &Block{Section: section, Info: strings.TrimSpace(info), Line: n + 1, Mark: comment(before)}
		default:
			if heading, ok := strings.CutPrefix(line, "## "); ok {
				section = strings.TrimSpace(heading)
			}
		}
		before = line
	}
	if open != nil {
		return nil, fmt.Errorf("line %d: the block is not closed: end it with %s", open.Line-1, fence)
	}
	return blocks, nil
}

// comment is the text of a line that is a comment; "" of any other.
func comment(line string) string {
	text, begins := strings.CutPrefix(line, "<!--")
	text, ends := strings.CutSuffix(text, "-->")
	if !begins || !ends {
		return ""
	}
	return strings.TrimSpace(text)
}

// Spans are the texts between single backticks outside of blocks, one for each, as blocks of one line.
func Spans(document string) []Block {
	var spans []Block
	inBlock, n := false, 0
	for line := range strings.Lines(document) {
		n++
		if strings.HasPrefix(strings.TrimSpace(line), fence) {
			inBlock = !inBlock
			continue
		}
		if inBlock {
			continue
		}
		for i, text := range strings.Split(line, "`") {
			if i%2 == 1 {
				spans = append(spans, Block{Line: n, Text: text})
			}
		}
	}
	return spans
}

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

// Command is one simple command of a block: what stands between the ends of lines, and between the operators of a
// shell.
type Command struct {
	Line  int      // in the document
	Words []string // without quotes
}

// prompt stands in front of what is typed where a block also shows what is answered.
const prompt = "$ "

// Commands are the commands of a block that is typed into a shell. The text of here-documents and comments are left
// out, and answers where a block has prompts. An error says which line cannot be read.
func Commands(b Block) ([]Command, error) {
	var out []Command
	lines := strings.Split(strings.TrimSuffix(b.Text, "\n"), "\n")
	answers := strings.Contains("\n"+b.Text, "\n"+prompt)
	for i := 0; i < len(lines); i++ {
		at, text := b.Line+i, strings.TrimSpace(lines[i])
		if answers && !strings.HasPrefix(text, prompt) {
			continue
		}
		for strings.HasSuffix(text, `\`) && i+1 < len(lines) {
			i++
			text = strings.TrimSuffix(text, `\`) + lines[i]
		}
		commands, err := split(strings.TrimPrefix(text, prompt))
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", at, err)
		}
		for _, words := range commands {
			out = append(out, Command{at, words})
			if end := hereDocument(words); end != "" {
				for i++; i < len(lines) && strings.TrimSpace(lines[i]) != end; i++ {
				}
			}
		}
	}
	return out, nil
}

// hereDocument is the line that ends the text that follows; "" where none does.
func hereDocument(words []string) string {
	for _, w := range words {
		if end, ok := strings.CutPrefix(w, "<<"); ok {
			return end
		}
	}
	return ""
}

// Option is what gives a command the value of a flag, --name VALUE or --name=VALUE; "" where it is not there.
func (c Command) Option(name string) string {
	for i, w := range c.Words {
		if value, ok := strings.CutPrefix(w, name+"="); ok {
			return value
		}
		if w == name && i+1 < len(c.Words) {
			return c.Words[i+1]
		}
	}
	return ""
}

// String is the command with single spaces, for messages.
func (c Command) String() string { return strings.Join(c.Words, " ") }
