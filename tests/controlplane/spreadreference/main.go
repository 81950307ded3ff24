// Program spread-reference answers what kube-scheduler's own PodTopologySpread plugin says.
//
// It reads one case per line from standard input and writes one answer per line to standard
// output, in the same order. A case that cannot be answered says why in its own line; only a
// broken pipe or unreadable input ends the program.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime"

	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// Work is handed out in lines and collected in the order of the input.
type job struct {
	line   []byte
	answer chan []byte
}

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "spread-reference:", err)
		os.Exit(1)
	}
}

func serve() error {
	metrics.Register() // which the framework takes for granted
	workers := runtime.GOMAXPROCS(0)
	todo := make(chan job)
	inOrder := make(chan job, 4*workers)
	for range workers {
		go func() {
			for job := range todo {
				job.answer <- answerLine(job.line)
			}
		}()
	}

	var readError error
	go func() {
		defer close(inOrder)
		defer close(todo)
		input := bufio.NewScanner(os.Stdin)
		input.Buffer(nil, 64<<20)
		for input.Scan() {
			if len(input.Bytes()) == 0 {
				continue
			}
			job := job{line: append([]byte(nil), input.Bytes()...), answer: make(chan []byte, 1)}
			inOrder <- job
			todo <- job
		}
		readError = input.Err()
	}()

	output := bufio.NewWriter(os.Stdout)
	for job := range inOrder {
		if _, err := output.Write(<-job.answer); err != nil {
			return err
		}
	}
	if err := output.Flush(); err != nil {
		return err
	}
	return readError
}

// answerLine never fails: what goes wrong is the answer.
func answerLine(line []byte) []byte {
	var asked Case
	answer := Answer{}
	if err := json.Unmarshal(line, &asked); err != nil {
		answer.Error = fmt.Sprintf("not a case: %v", err)
	} else {
		answer = asked.answer()
	}
	text, err := json.Marshal(answer)
	if err != nil {
		text = fmt.Appendf(nil, `{"id":%d,"error":"the answer is not JSON"}`, answer.ID)
	}
	return append(text, '\n')
}
