;;; agent-shell.el --- A try of agent-shell  -*- lexical-binding: t -*-

;; The environment names the plugins' folder, the configuration and the report.

(dolist (name '("acp.el" "shell-maker" "agent-shell"))
  (add-to-list 'load-path (expand-file-name name (getenv "TRY_PLUGINS"))))
(setq make-backup-files nil create-lockfiles nil)
(require 'agent-shell)
(setq agent-shell-session-strategy 'new)

(defun try-await (what met)
  "Process output until MET returns a value, and return it."
  (let ((end (+ (float-time) 60)) value)
    (while (not (setq value (funcall met)))
      (when (> (float-time) end) (error "Timeout: %s" what))
      (accept-process-output nil 0.02))
    value))

(defun try-text (buffer)
  (with-current-buffer buffer (buffer-substring-no-properties (point-min) (point-max))))

(defvar try-asked nil)

(defun try-allow (shell)
  "Press the key of the button that allows a call once, if there is one."
  (with-current-buffer shell
    (save-excursion
      (goto-char (point-min))
      (when (search-forward "Allow once (y)" nil t)
        (push (try-text shell) try-asked)
        (call-interactively (lookup-key (get-text-property (match-beginning 0) 'keymap) "y"))))))

(defun try-prompt (shell text)
  (let* ((done nil)
         (token (agent-shell-subscribe-to :shell-buffer shell :event 'turn-complete
                                          :on-event (lambda (_event) (setq done t)))))
    (agent-shell-insert :text text :submit t :shell-buffer shell)
    (try-await "the end of the turn" (lambda () (try-allow shell) done))
    (agent-shell-unsubscribe :subscription token)))

(defun try-resume (config id)
  "Open session ID in a second shell and send a prompt."
  (let ((agent-shell-preferred-agent-config config))
    (agent-shell-resume-session id))
  (let ((second (seq-find (lambda (buffer) (not (equal (buffer-name buffer) (buffer-name)))) (agent-shell-buffers))))
    (try-await "the session"
               (lambda () (equal id (map-nested-elt (buffer-local-value 'agent-shell--state second) '(:session :id)))))
    (try-await "the prompt" (lambda () (with-current-buffer second (not (shell-maker-busy)))))
    (try-prompt second "Greet me.")
    (unless (string-match-p "Hello from Strata" (try-text second)) (error "No reply in the second shell"))))

(defun try-run ()
  (load (getenv "TRY_CONFIG") nil t t)
  (let ((file (find-file-noselect "a.txt"))
        (config (seq-find (lambda (c) (equal (map-elt c :mode-line-name) "Strata")) agent-shell-agent-configs)))
    (with-current-buffer file
      (goto-char (point-min))
      (insert "unsaved "))
    (agent-shell-start :config config)
    (let ((shell (car (agent-shell-buffers))))
      (try-await "a session"
                 (lambda () (map-nested-elt (buffer-local-value 'agent-shell--state shell) '(:session :id))))
      (try-await "the prompt" (lambda () (with-current-buffer shell (not (shell-maker-busy)))))
      (try-prompt shell "Greet me.")
      (try-prompt shell "Edit the file.")
      (try-prompt shell "/context")
      (with-current-buffer shell
        (let ((id (map-nested-elt agent-shell--state '(:session :id))))
          (try-resume config id)))
      (list :chat (try-text shell) :buffer (try-text file) :asked (vconcat (nreverse try-asked))))))

(let ((report (condition-case problem (try-run)
                (error (list :error (error-message-string problem) :asked [])))))
  (let ((coding-system-for-write 'no-conversion))
    (with-temp-file (getenv "TRY_REPORT")
      (set-buffer-multibyte nil)
      (insert (json-serialize report)))))
