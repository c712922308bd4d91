MAX_INTERPRETED_POSES = 20


def compiled_or_interpreted(kernel, poses=1):
    return kernel


def lacks_machine_code(kernel):
    return False
