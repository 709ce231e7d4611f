package pages

import (
	"fmt"
	"strings"
)

// Command is one simple command of a block: what stands between the ends of lines, and between the operators of a shell.
type Command struct {
	Line  int      // in the document
	Words []string // without quotes
}

// prompt stands in front of what is typed where a block also shows what is answered.
const prompt = "$ "

// Commands are the commands of a block that is typed into a shell. The text of here-documents and comments are left out, and answers where a block
// has prompts. An error says which line cannot be read.
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
