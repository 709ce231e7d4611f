package laws

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

var markdownLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// Links finds links of the documents to files of the repository that are not there. It returns how many links it has followed.
func Links(root string) (faults []string, followed int, err error) {
	err = walk(root, notOurs, func(name, rel string) error {
		if !strings.HasSuffix(rel, ".md") {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		n, broken := brokenLinks(filepath.Dir(name), rel, string(text))
		followed += n
		faults = append(faults, broken...)
		return nil
	})
	return faults, followed, err
}

func brokenLinks(dir, rel, text string) (followed int, faults []string) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		for _, m := range markdownLink.FindAllStringSubmatch(line, -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if target == "" || strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			followed++
			if _, err := os.Stat(filepath.Join(dir, target)); err != nil {
				faults = append(faults, fmt.Sprintf("%s:%d: the link leads nowhere: %s", rel, n, m[1]))
			}
		}
	}
	return followed, faults
}
