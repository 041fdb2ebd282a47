from unrolled.commands.rescore import main

if __name__ == "__main__":
    main()
