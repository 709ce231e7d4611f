package tasks

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

const (
	maxPageLine  = 64 << 10 // bytes
	maxPageCheck = 64 << 10 // bytes of lines that nobody asked for, checked at once
	labelsEach   = 16       // labels that a sample may have on average, as "=" are counted
)

// pageReader passes on the lines of a page that are asked for, each other one as an empty line, so that the parser
// behind it holds no more than the limits allow and knows the right line numbers. Lines that nobody asked for are
// checked and forgotten.
type pageReader struct {
	c       *scrapeConfig
	in      *bufio.Reader
	grouped map[string]bool // wanted summaries and histograms
	out     bytes.Buffer
	other   bytes.Buffer
	otherAt int // line number of the first line in other
	checker expfmt.TextParser
	err     error // why there is nothing more to read

	bytes, lines, samples, labels, families int
}

func newPageReader(c *scrapeConfig, in io.Reader) *pageReader {
	return &pageReader{
		c: c, in: bufio.NewReaderSize(in, maxPageLine), grouped: map[string]bool{}, otherAt: 1,
		checker: expfmt.NewTextParser(model.UTF8Validation),
	}
}

// Read passes whole lines to the parser.
func (p *pageReader) Read(b []byte) (int, error) {
	for p.err == nil && p.out.Len() < len(b) {
		p.err = p.line()
		if ended := errors.Is(p.err, io.EOF); ended || p.err == nil && p.other.Len() >= maxPageCheck {
			if err := p.checkOther(); err != nil {
				p.err = err
			}
		}
	}
	if p.out.Len() > 0 {
		return p.out.Read(b)
	}
	return 0, p.err
}

// failure is the error that reading ended with, nil at the end of the page.
func (p *pageReader) failure() error {
	if errors.Is(p.err, io.EOF) {
		return nil
	}
	return p.err
}

// line reads one line. Its error at the end of the page is io.EOF.
func (p *pageReader) line() error {
	line, err := p.in.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return &unexpected{"limit",
			fmt.Errorf("line %d of the page is longer than %d bytes; no field raises this limit", p.lines+1,
				maxPageLine)}
	case err != nil && !errors.Is(err, io.EOF):
		return fmt.Errorf("read page: %w", err)
	case len(line) == 0:
		return err
	}
	p.lines++
	if p.bytes += len(line); p.bytes > p.c.MaxBytes {
		return scrapeBytes.exceeded("the page has", p.c.MaxBytes)
	}
	if p.lines > p.c.MaxLines {
		return scrapeLines.exceeded("the page has", p.c.MaxLines)
	}
	if failed := p.sort(line); failed != nil {
		return failed
	}
	return err
}

// sort sends a line to the parser or to the check.
func (p *pageReader) sort(line []byte) error {
	take, err := p.wanted(bytes.TrimLeft(line, " \t"))
	if err != nil {
		return err
	}
	if take {
		p.out.Write(line)
		p.other.WriteByte('\n')
		return nil
	}
	p.other.Write(line)
	p.out.WriteByte('\n')
	return nil
}

// wanted decides about a line and counts what the parser will make of it.
func (p *pageReader) wanted(line []byte) (bool, error) {
	if len(line) == 0 || line[0] == '\n' {
		return false, nil
	}
	if line[0] == '#' {
		return p.wantedType(bytes.Fields(line[1:]))
	}
	name, plainName := metricName(line)
	if plainName && !p.c.wants(name) && !p.grouped[groupOf(name)] {
		return false, nil
	}
	p.samples++
	p.labels += bytes.Count(line, []byte("="))
	switch n := p.c.MaxSamples; {
	case p.samples > n:
		return false, p.c.tooMany()
	case p.labels > n*labelsEach:
		return false, &unexpected{"limit",
			fmt.Errorf("more than %d labels, %d for each sample that max_samples allows; %s", n*labelsEach, labelsEach,
				scrapeSamples.beyond(n))}
	}
	return true, nil
}

// wantedType decides about a comment: the parser needs to know the types of wanted families.
func (p *pageReader) wantedType(words [][]byte) (bool, error) {
	if len(words) < 3 || string(words[0]) != "TYPE" {
		return false, nil
	}
	name, plainName := metricName(words[1])
	if plainName && !p.c.wants(name) {
		return false, nil
	}
	if p.families++; p.families > p.c.MaxSamples {
		return false, &unexpected{"limit", fmt.Errorf("more TYPE lines than max_samples, which is %d", p.c.MaxSamples)}
	}
	switch strings.ToLower(string(words[2])) {
	case "summary", "histogram", "gaugehistogram", "gauge_histogram":
		p.grouped[name] = true
	}
	return true, nil
}

// metricName is the name at the start of a line. It is not plain if it may be quoted, or within braces.
func metricName(line []byte) (name string, plainName bool) {
	n := bytes.IndexFunc(line, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != ':'
	})
	if n < 0 {
		n = len(line)
	}
	return string(line[:n]), n > 0 || line[0] != '"' && line[0] != '{'
}

// groupOf is the summary or histogram that a sample of this name may belong to.
func groupOf(name string) string {
	for _, end := range []string{"_bucket", "_count", "_sum"} {
		if front, ok := strings.CutSuffix(name, end); ok {
			return front
		}
	}
	return name
}

// checkOther parses the lines that nobody asked for: a page that is no exposition is refused as a whole, whatever was
// asked for.
func (p *pageReader) checkOther() error {
	if p.other.Len() == 0 {
		return nil
	}
	_, err := p.checker.TextToMetricFamilies(&p.other)
	err = notText(err, p.otherAt-1)
	p.other.Reset()
	p.otherAt = p.lines + 1
	return err
}

// notText is the finding of a parse error; before is how many lines of the page the parser has not seen.
func notText(err error, before int) error {
	var pe expfmt.ParseError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &pe):
		return &unexpected{"format", fmt.Errorf("the page is no Prometheus text: line %d: %s", pe.Line+before, pe.Msg)}
	}
	return &unexpected{"format", fmt.Errorf("the page is no Prometheus text: %w", err)}
}
