// Package contract says what each command of the log may do, apart from the code that does it: what the comments of the
// commands in package cluster promise.
//
// [Broken] looks at a value before and after an entry and tells what was not kept. The simulator and the exhaustive
// checker ask it after every entry, so that a flaw of Apply is found even where no owner is hurt by it at once. It
// reads values through their public methods alone, and repeats none of Apply's code.
//
// It judges what can be judged from outside: commands name incarnations and tokens that must be those of the value
// before, since nobody can name an index that is not there yet. Where the first command of an entry may have changed
// what the second one meets, it says nothing.
package contract
