package session

import (
	"strata/history"
	"strata/llm"
	"strata/session/assembly"
	"strata/session/compacting"
	"strata/session/documents"
	"strata/session/events"
	"strata/session/fit"
	"strata/session/workspace"
)

// The types of the packages below that callers of a session meet.
type (
	Event     = events.Event
	EventKind = events.Kind
	Cursor    = events.Cursor
	Since     = events.Since

	UsageInfo      = events.UsageInfo
	TitleInfo      = events.TitleInfo
	TurnStarted    = events.TurnStartedInfo
	TurnFinished   = events.TurnFinishedInfo
	Retrying       = events.RetryInfo
	ContextChanged = events.ContextInfo
	SaveInfo       = events.SaveInfo
	ConfigInfo     = events.ConfigInfo
	ClosedInfo     = events.ClosedInfo
	Progress       = events.ProgressInfo
	Completed      = events.CompletedInfo

	Assembled    = assembly.Assembled
	Breakdown    = assembly.Breakdown
	Budget       = assembly.Budget
	BudgetError  = assembly.BudgetError
	Calibrations = assembly.Calibrations
	LeftOut      = fit.Omitted
	Mirrors      = assembly.Mirrors
	Report       = assembly.Report

	CompactRequest   = compacting.Request
	Compacted        = compacting.Result
	CompactionStatus = compacting.Status

	DocumentInfo    = documents.Info
	DocumentRequest = documents.Request
	TestFailure     = documents.Failure

	EditRefusedError = workspace.EditRefusedError
	FileInfo         = workspace.FileInfo
	FileRange        = workspace.FileRange
	FileRequest      = workspace.FileRequest
	FileText         = workspace.FileText
	FoundPath        = workspace.FoundPath
	RefusedError     = workspace.RefusedError
	UnknownFileError = workspace.UnknownFileError

	ProviderError = llm.Error
)

// The kinds of events.
const (
	EventBlock            = events.Block
	EventThought          = events.Thought
	EventText             = events.Text
	EventUsage            = events.Usage
	EventInfo             = events.Info
	EventOptions          = events.Options
	EventNotice           = events.Notice
	EventMode             = events.Mode
	EventCompactionUpdate = events.CompactionUpdate
	EventSummaryChunk     = events.SummaryChunk
	EventSaveFailed       = events.SaveFailed
	EventProgress         = events.Progress
	EventCompleted        = events.Completed
	EventResynced         = events.Resynced
)

// The outcomes of compactions beside the results of package compaction, and limits.
const (
	OutcomeRunning     = compacting.Running
	OutcomeSuperseded  = compacting.Superseded
	OutcomeInterrupted = compacting.Interrupted

	DefaultLogEvents  = events.MaxEvents
	MaxDocuments      = documents.Max
	MaxDocumentBytes  = documents.MaxBytes
	MaxDocumentsBytes = documents.MaxTotal
)

// NewCalibrations returns the stored calibrations.
func NewCalibrations(stored []history.Calibration) *Calibrations {
	return assembly.NewCalibrations(stored)
}

// NewMirrors returns mirrors of empty caches.
func NewMirrors() *Mirrors { return assembly.NewMirrors() }
