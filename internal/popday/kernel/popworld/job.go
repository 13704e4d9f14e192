package popworld

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/congctl/congctl/internal/popday"
	"github.com/congctl/congctl/internal/popday/pop"
)

// Job asks a machine for a day under a policy.
type Job struct {
	Seed uint64 `json:"seed"`
	Pop  JobDay `json:"pop"`
}

// JobDay is the day of a job.
type JobDay struct {
	Name   string `json:"name"` // of the file, for errors
	Text   string `json:"text"`
	Policy Policy `json:"policy"`
}

// packed is the files of a run's folder as they cross from the guest.
type packed struct{ Facts, Responses, Store, Emptied, Records, Log []byte }

// RunJob runs a job and reports the files of the run's folder, which Unpack writes.
func RunJob(job []byte, progress func(string)) ([]byte, error) {
	var j Job
	if err := json.Unmarshal(job, &j); err != nil {
		return nil, fmt.Errorf("read job: %w", err)
	}
	d, err := pop.Parse(j.Pop.Name, []byte(j.Pop.Text))
	if err != nil {
		return nil, err
	}
	res, err := Run(context.Background(), d, j.Seed, j.Pop.Policy, progress)
	if err != nil {
		return nil, err
	}
	return pack(res)
}

func pack(res *Result) ([]byte, error) {
	facts, err := json.MarshalIndent(&res.Facts, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("pack facts: %w", err)
	}
	responses, err := squeezed(res.Responses)
	if err != nil {
		return nil, fmt.Errorf("pack responses: %w", err)
	}
	var out bytes.Buffer
	if err := gob.NewEncoder(&out).Encode(packed{append(facts, '\n'), responses, res.Store, res.Emptied, res.Records, res.Log}); err != nil {
		return nil, fmt.Errorf("pack day: %w", err)
	}
	return out.Bytes(), nil
}

// squeezed compresses at the quickest level: the guest pays for each instruction.
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

// Unpack writes what RunJob reported into a new folder.
func Unpack(dir string, report []byte) error {
	var p packed
	err := gob.NewDecoder(bytes.NewReader(report)).Decode(&p)
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	for name, body := range map[string][]byte{popday.FactsFile: p.Facts, popday.ResponsesFile: p.Responses, popday.StoreFile: p.Store,
		popday.EmptiedFile: p.Emptied, popday.RecordsFile: p.Records, popday.LogFile: p.Log} {
		if err == nil && body != nil {
			err = os.WriteFile(filepath.Join(dir, name), body, 0o644)
		}
	}
	if err != nil {
		return fmt.Errorf("unpack day: %w", err)
	}
	return nil
}
