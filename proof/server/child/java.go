package child

import (
	"context"
	"os/exec"
)

// Java returns the program java; a [MissingError] names the variable that servers could be given in.
func Java(variable string) (string, error) {
	java, err := exec.LookPath("java")
	if err != nil {
		return "", &MissingError{What: "java", Variable: variable, Err: err}
	}
	return java, nil
}

// Parts returns what a server of these jars is started with: the program java, and the folder with them. A [MissingError] says what this machine lacks.
func (m Maven) Parts(ctx context.Context) (java, lib string, err error) {
	if java, err = Java(m.Servers); err != nil {
		return "", "", err
	}
	lib, err = m.Dir(ctx)
	return java, lib, err
}
