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
