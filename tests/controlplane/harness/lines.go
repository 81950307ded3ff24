// Package harness is what the programs share that answer with kube-scheduler's own code.
package harness

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// failure is the answer to a case that cannot be answered.
type failure struct {
	ID    int64  `json:"id"`
	Error string `json:"error"`
}

// job is handed out in lines and collected in the order of the input.
type job struct {
	line   []byte
	answer chan []byte
}

// Main reads one case per line from standard input and writes one answer per line to standard
// output, in the same order. A case that cannot be answered says why in its own line; only a
// broken pipe or unreadable input ends the program.
func Main[Case any](program string, answer func(*Case) (any, error)) {
	if err := serve(answer); err != nil {
		fmt.Fprintln(os.Stderr, program+":", err)
		os.Exit(1)
	}
}

func serve[Case any](answer func(*Case) (any, error)) error {
	metrics.Register() // which the framework takes for granted
	workers := runtime.GOMAXPROCS(0)
	todo := make(chan job)
	inOrder := make(chan job, 4*workers)
	for range workers {
		go func() {
			for job := range todo {
				job.answer <- answerLine(job.line, answer)
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
func answerLine[Case any](line []byte, answer func(*Case) (any, error)) []byte {
	text, err := answerText(line, answer)
	if err != nil {
		var failed failure
		_ = json.Unmarshal(line, &failed) // for the number; an unreadable case has none
		failed.Error = err.Error()
		if text, err = json.Marshal(failed); err != nil {
			text = fmt.Appendf(nil, `{"id":%d,"error":"not to be told"}`, failed.ID)
		}
	}
	return append(text, '\n')
}

func answerText[Case any](line []byte, answer func(*Case) (any, error)) (text []byte, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("panic: %v\n%s", panicked, debug.Stack())
		}
	}()
	var asked Case
	if err := json.Unmarshal(line, &asked); err != nil {
		return nil, fmt.Errorf("not a case: %w", err)
	}
	said, err := answer(&asked)
	if err != nil {
		return nil, err
	}
	return json.Marshal(said)
}
