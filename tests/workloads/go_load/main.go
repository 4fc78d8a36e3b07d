// go_load SECONDS: recursion, sorting, allocation and several goroutines, for stacks of a real Go program.
package main

import (
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
)

type node struct {
	left, right *node
	value       int
}

func build(depth int) *node {
	if depth == 0 {
		return nil
	}
	return &node{build(depth - 1), build(depth - 1), depth}
}

func sum(n *node) int {
	if n == nil {
		return 0
	}
	return n.value + sum(n.left) + sum(n.right)
}

func words(count int) int {
	list := []string{}
	for i := 0; i < count; i++ {
		list = append(list, fmt.Sprintf("w%d", i*7919%count))
	}
	sort.Strings(list)
	return len(strings.Join(list, ","))
}

func main() {
	seconds, err := strconv.ParseFloat(strings.Join(os.Args[1:], ""), 64)
	if err != nil {
		fmt.Fprintln(os.Stderr, "usage: go_load SECONDS")
		os.Exit(2)
	}
	end := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	var done sync.WaitGroup
	for worker := 0; worker < 2; worker++ {
		done.Add(1)
		go func() {
			defer done.Done()
			for time.Now().Before(end) {
				sum(build(14))
				words(2000)
			}
		}()
	}
	done.Wait()
}
