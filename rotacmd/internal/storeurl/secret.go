package storeurl

import (
	"fmt"
	"os"
	"strings"
)

// Secret fetches a secret that is named, never written out: env:NAME or file:/path. Its error never contains it.
func Secret(ref string, getenv func(string) string) (string, error) {
	kind, rest, _ := strings.Cut(ref, ":")
	switch kind {
	case "env":
		if v := getenv(rest); v != "" {
			return v, nil
		}
		return "", fmt.Errorf("the environment has no %s", rest)
	case "file":
		b, err := os.ReadFile(rest)
		if err != nil {
			return "", err
		}
		if v := strings.TrimSpace(string(b)); v != "" {
			return v, nil
		}
		return "", fmt.Errorf("%s is empty", rest)
	}
	return "", fmt.Errorf("a secret is named as env:NAME or file:/path, it does not stand there itself")
}
