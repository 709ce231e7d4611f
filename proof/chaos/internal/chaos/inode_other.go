//go:build !unix

package chaos

func inodeOf(string) (string, bool) { return "", false }
