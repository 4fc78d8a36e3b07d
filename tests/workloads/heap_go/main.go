// A Go program with known allocations that serves its heap profile at /debug/pprof/heap, and a CPU profile whose samples
// carry labels at /labelled; the same bytes once more at /labelled/last. Prints "port N" on standard error, serves until
// it is killed.
package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"runtime"
	"runtime/pprof"
	"sync/atomic"
	"time"
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

var spent uint64

//go:noinline
func burn(duration time.Duration) {
	for end := time.Now().Add(duration); time.Now().Before(end); {
		for i := uint64(0); i < 100000; i++ {
			spent += i * i
		}
	}
}

var lastLabelled atomic.Pointer[[]byte]

// A CPU profile of work for two tenants.
func labelled(writer http.ResponseWriter, _ *http.Request) {
	var profile bytes.Buffer
	if err := pprof.StartCPUProfile(&profile); err != nil {
		http.Error(writer, err.Error(), http.StatusInternalServerError)
		return
	}
	ctx := context.Background()
	pprof.Do(ctx, pprof.Labels("tenant", "gold"), func(ctx context.Context) {
		burn(600 * time.Millisecond)
		pprof.Do(ctx, pprof.Labels("request", "get"), func(context.Context) { burn(300 * time.Millisecond) })
	})
	pprof.Do(ctx, pprof.Labels("tenant", "free"), func(context.Context) { burn(200 * time.Millisecond) })
	burn(100 * time.Millisecond)
	pprof.StopCPUProfile()
	content := profile.Bytes()
	lastLabelled.Store(&content)
	writer.Write(content)
}

func labelledLast(writer http.ResponseWriter, _ *http.Request) {
	content := lastLabelled.Load()
	if content == nil {
		http.Error(writer, "no profile yet: get /labelled", http.StatusNotFound)
		return
	}
	writer.Write(*content)
}

func main() {
	http.HandleFunc("/labelled", labelled)
	http.HandleFunc("/labelled/last", labelledLast)
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
