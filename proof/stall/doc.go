// Package stall notes when the machine let this process wait that wanted to run: a virtual machine that stood still, no free processor.
//
// # Purpose
//
// A process that gets no processor is as good as suspended, and nobody writes that down. Who judges real processes by their times must know of it.
//
// # What is not guaranteed
//
// It is this process that is watched. One that runs beside it may have stood still for longer, or not at all.
package stall
