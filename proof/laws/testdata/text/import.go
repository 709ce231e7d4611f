// want: nothing
// as: docs/x.md

// See github.com/rota-run/rota/work/worktest and ./work/ and store/file.
package x
