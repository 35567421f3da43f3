//go:build unix

package backend

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

func (p *private) suspend(ctx context.Context, pid int) error {
	err := p.alone(ctx, func() error { return p.signal(pid, syscall.SIGSTOP) })
	if err != nil {
		return err
	}
	return await(ctx, time.Second, "the process is stopped", func(context.Context) (bool, error) { return suspended(pid), nil })
}

func (p *private) resume(pid int) error {
	p.turn <- struct{}{} // whoever has it is soon done
	defer func() { <-p.turn }()
	return p.signal(pid, syscall.SIGCONT)
}

// signal sends a signal to the child, unless it has ended: then the id may be
// another's.
func (p *private) signal(pid int, signal syscall.Signal) error {
	if p.child == nil {
		return errEnded
	}
	select {
	case <-p.child.gone:
		return errEnded
	default:
		return os.NewSyscallError("kill", syscall.Kill(pid, signal))
	}
}

var errEnded = errors.New("the server has ended")

// suspended asks the kernel whether a process is stopped, where /proc tells. A
// process on another CPU goes on for some microseconds.
func suspended(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, fields, _ := bytes.Cut(stat, []byte(") "))
	return len(fields) > 0 && fields[0] == 'T'
}
