# Runs an archiver's script: cmake -DAR=<ar> -DSCRIPT=<file> -P JoinArchives.cmake

execute_process(COMMAND "${AR}" -M INPUT_FILE "${SCRIPT}" COMMAND_ERROR_IS_FATAL ANY)
