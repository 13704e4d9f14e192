package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/congctl/congctl/internal/core/pop"
	kernelpop "github.com/congctl/congctl/internal/kernel/pop"
	"github.com/congctl/congctl/internal/kernel/world"
)

// guestJob is what a guest may be asked: a day of a point of presence, a proof
// that a congestion control works there, or else cells.
type guestJob struct {
	Seed   uint64  `json:"seed"`
	Pop    *popJob `json:"pop"`
	Enable string  `json:"enable,omitempty"`
}

// popJob is a day under a policy.
type popJob struct {
	Name   string           `json:"name"` // of the file, for errors
	Text   string           `json:"text"`
	Policy kernelpop.Policy `json:"policy"`
}

func runGuestJob(job []byte, progress func(string)) ([]byte, error) {
	var j guestJob
	if err := json.Unmarshal(job, &j); err != nil {
		return nil, fmt.Errorf("read job: %w", err)
	}
	if j.Enable != "" {
		return world.RunProof(job, progress)
	}
	if j.Pop == nil {
		return world.RunJob(job, progress)
	}
	d, err := pop.Parse(j.Pop.Name, []byte(j.Pop.Text))
	if err != nil {
		return nil, err
	}
	res, err := kernelpop.Run(context.Background(), d, j.Seed, j.Pop.Policy, progress)
	if err != nil {
		return nil, err
	}
	return packDay(res)
}

// Files of a day's folder.
const (
	factsFile     = "facts.json"
	responsesFile = "responses.jsonl.gz"
	storeFile     = "store.sqlite"
	emptiedFile   = "emptied.sqlite"
	logFile       = "congctl.log"
	dayFile       = "scenario.yml" // with the manifest
)

// packDay makes a tar archive of what a day left behind.
func packDay(res *kernelpop.Result) ([]byte, error) {
	facts, err := json.MarshalIndent(&res.Facts, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("pack facts: %w", err)
	}
	responses, err := squeezed(res.Responses)
	if err != nil {
		return nil, fmt.Errorf("pack responses: %w", err)
	}
	var out bytes.Buffer
	t := tar.NewWriter(&out)
	for _, f := range []struct {
		name string
		body []byte
	}{{factsFile, append(facts, '\n')}, {responsesFile, responses}, {storeFile, res.Store}, {emptiedFile, res.Emptied}, {logFile, res.Log}} {
		if f.body == nil {
			continue
		}
		if err = t.WriteHeader(&tar.Header{Name: f.name, Mode: 0o644, Size: int64(len(f.body)), ModTime: time.Unix(0, 0)}); err == nil {
			_, err = t.Write(f.body)
		}
		if err != nil {
			return nil, fmt.Errorf("pack %s: %w", f.name, err)
		}
	}
	if err := t.Close(); err != nil {
		return nil, fmt.Errorf("pack day: %w", err)
	}
	return out.Bytes(), nil
}

// squeezed by the quickest level: the guest pays for each instruction.
func squeezed(b []byte) ([]byte, error) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err == nil {
		_, err = z.Write(b)
	}
	if err == nil {
		err = z.Close()
	}
	return out.Bytes(), err
}
