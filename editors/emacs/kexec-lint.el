;;; kexec-lint.el --- kexec-lint under eglot  -*- lexical-binding: t -*-

;; Eglot runs one server a buffer.  `M-x kexec-lint-eglot' starts kexec-lint in a buffer that has none;
;; to run it beside another server, put both behind a multiplexer and name that here.

;;; Code:

(require 'eglot)

(defcustom kexec-lint-settings '(:confidence "likely")
  "Settings of the server, under the section `kexec-lint'."
  :type 'plist
  :group 'eglot)

(add-to-list 'eglot-server-programs
             '((python-mode python-ts-mode c-mode c-ts-mode c++-mode c++-ts-mode yaml-mode)
               . ("kexec-lint" "server"))
             t)

(setq-default eglot-workspace-configuration
              (append (list :kexec-lint kexec-lint-settings)
                      (and (listp (default-value 'eglot-workspace-configuration))
                           (default-value 'eglot-workspace-configuration))))

;;;###autoload
(defun kexec-lint-eglot ()
  "Start kexec-lint for this buffer."
  (interactive)
  ;; The arguments of `eglot' differ between its releases; its own guess fits each.
  (let ((eglot-server-programs `((,major-mode . ("kexec-lint" "server")))))
    (call-interactively #'eglot)))

(provide 'kexec-lint)
;;; kexec-lint.el ends here
