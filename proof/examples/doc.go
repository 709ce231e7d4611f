// Package examples holds tests that run the programs of the folder examples as processes, and kill some of them while
// they work.
//
// # Purpose
//
// An example shows what a program may rely on. Its own tests check each step by itself; here several processes share
// the work, and the results are complete although processes die.
//
// # What is not guaranteed
//
// How long it takes is logged, and not checked.
package examples
