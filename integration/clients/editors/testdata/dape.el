;;; Has dape debug the program, and writes what it shows into the file SHOWN.  -*- lexical-binding: t -*-
(setq native-comp-jit-compilation nil)
(require 'dape)

(defun test-shows (step what)
  (write-region (format "%s: %s\n" step what) nil (getenv "SHOWN") t 'quiet))

(defun test-until (what check)
  (let ((end (+ (float-time) 30)))
    (while (and (not (funcall check)) (< (float-time) end))
      (accept-process-output nil 0.05))
    (unless (funcall check) (error "waited in vain for %s" what))))

(defvar test-stops 0)
(setq dape-start-hook nil
      dape-stopped-hook (list (lambda () (setq test-stops (1+ test-stops)))))

(defun test-connection () (dape--live-connection 'parent t))
(defun test-frames () (plist-get (dape--current-thread (test-connection)) :stackFrames))

;; What was shown before is forgotten, so that nothing old is read.
(defun test-step (command)
  (plist-put (dape--current-thread (test-connection)) :stackFrames nil)
  (funcall command (test-connection)))

(defun test-position (stop)
  (test-until (format "stop %d" stop)
              (lambda () (and (>= test-stops stop) (test-connection) (test-frames))))
  (let ((top (car (test-frames))))
    (format "%s:%s" (file-name-nondirectory (or (plist-get (plist-get top :source) :path) "?")) (plist-get top :line))))

(find-file "native.c")
(forward-line 8)
(dape-breakpoint-toggle)
;; dape's own configuration for Go, with another command.
(dape (append (list 'command (getenv "ADAPTER") 'command-cwd default-directory
                    :mode "exec" :program (getenv "CLEW_TEST_PROGRAM"))
              (alist-get 'dlv dape-configs)))
(test-shows "breakpoint in C" (test-position 1))
;; dape shows the whole stack in its buffer, which asks for it.
(let ((conn (test-connection)) shown)
  (dape--stack-trace conn (dape--current-thread conn) 100 (lambda (&rest _) (setq shown t)))
  (test-until "the stack" (lambda () shown)))
(test-shows "stack" (mapconcat (lambda (frame) (plist-get frame :name)) (test-frames) " "))

(test-step #'dape-step-out)
(test-shows "step out of C" (test-position 2))
(test-step #'dape-step-out)
(test-shows "again, to Go" (test-position 3))
(test-step #'dape-restart)
(test-shows "restart" (test-position 4))
(dape-kill (test-connection))
(test-until "the end" (lambda () (not (test-connection))))
(test-shows "terminate" "ended")
