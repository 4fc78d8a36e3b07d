// A Go program with known allocations that serves its heap profile at /debug/pprof/heap. Prints "port N" on standard
// error, serves until it is killed.
package main

import (
	"fmt"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"runtime"
)

var kept [][]byte

// 32 MiB in blocks of 64 KiB.
//
//go:noinline
func allocateLargeBlocks() {
	for i := 0; i < 512; i++ {
		kept = append(kept, make([]byte, 64<<10))
	}
}

// 8 MiB in blocks of 1 KiB.
//
//go:noinline
func allocateSmallBlocks() {
	for i := 0; i < 8192; i++ {
		kept = append(kept, make([]byte, 1<<10))
	}
}

func main() {
	allocateLargeBlocks()
	allocateSmallBlocks()
	runtime.GC() // the heap profile is that of the last collection
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Fprintf(os.Stderr, "port %d\n", listener.Addr().(*net.TCPAddr).Port)
	fmt.Fprintln(os.Stderr, http.Serve(listener, nil))
	os.Exit(1)
}
