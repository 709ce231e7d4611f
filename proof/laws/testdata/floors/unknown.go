// want: add it to proof/laws/floors.txt
// as: nowhere/x.go

package nowhere
