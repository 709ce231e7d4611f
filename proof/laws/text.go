package laws

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// machineWords are what belongs to the machine on which a file was written and not into the repository: paths, package registries. The words are put
// together here so that this file does not contain them.
var machineWords = regexp.MustCompile(strings.Join([]string{
	`(^|[^A-Za-z0-9_./-])/(` + "wo" + `rk|` + "ro" + `ot|` + "ho" + `me/[a-z]+)/`,
	`proxy` + `\.golang\.org`, `sum` + `\.golang\.org`, `registry` + `\.npmjs\.org`, `goproxy` + `\.`, `files\.python` + `hosted`, `artif` + `actory`,
}, "|"))

// maxText bounds the files that Text reads: larger ones are data.
const maxText = 1 << 20

// Text finds words of one machine in any text file of the tree that has no zero byte, data of tests too. It returns how many files it has read.
func Text(root string) (faults []string, read int, err error) {
	err = walk(root, notOurs, func(name, rel string) error {
		info, err := os.Stat(name)
		if err != nil || info.Size() > maxText {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil || bytes.IndexByte(text, 0) >= 0 {
			return err
		}
		read++
		faults = append(faults, TextOf(rel, string(text))...)
		return nil
	})
	return faults, read, err
}

// TextOf finds words of one machine in one text.
func TextOf(rel, text string) []string {
	var out []string
	n := 0
	for line := range strings.Lines(text) {
		n++
		if word := machineWords.FindString(line); word != "" {
			out = append(out, fmt.Sprintf("%s:%d: %q is of one machine", rel, n, strings.TrimSpace(word)))
		}
	}
	return out
}
